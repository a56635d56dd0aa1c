"""Decks: items dealt in random order, each shown once before any is shown again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import array_kernel, lean_kernel
from clickrank._core.arrays import IntParticle, Ints
from clickrank.numerics.shuffling import shuffle, swap_at_random


class Deck(NamedTuple):
    """The items to show next. It counts the lists made, because feedback may be late."""

    dealing: IntParticle  # (1,), number of the batch or phase that the deck is for; 0: no deck
    deck: IntParticle  # (n_items,), the items of the deck, those to show next first
    to_deal: IntParticle  # (1,), how many items to show before any other is shown again


def no_deck(n_items: int) -> Deck:
    """Return an empty deck: the next list begins a new one."""
    one = np.zeros(1, dtype=np.int64)
    return Deck(dealing=one, deck=np.zeros(n_items, dtype=np.int64), to_deal=one.copy())


@array_kernel
def begin_deck(items: Ints, views: Ints, deck: Ints, to_deal: Ints) -> None:
    """Write a deck of items, in which those with the fewest views are to be dealt.

    ``to_deal`` (1,) gets their number; they come first in the deck. The order of the others decides
    which of them a random number selects, and must not change, so that seeds stay reproducible.
    """
    behind = views[items] == views[items].min()
    deck[: items.shape[0]] = np.append(items[behind], items[~behind][::-1])
    to_deal[0] = behind.sum()


@lean_kernel
def deal(
    deck: Ints,
    to_deal: Ints,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
    first: int,
    number: int,
) -> None:
    """Write the next items of a deck to a list, starting at a position.

    ``number`` is written to the memo of the items whose turn it was. If fewer items are to be dealt
    than must be shown, a new deal begins: the list is filled with random other items, whose memo is
    0 and who stay in the deck, and is shuffled.
    """
    size = deck.shape[0]
    n_positions = ranking.shape[0]
    cards = int(to_deal[0])
    dealt = min(cards, n_positions - first)
    for position in range(first, first + dealt):
        cards -= 1
        swap_at_random(rng, deck, cards, 0, cards + 1)
        ranking[position] = deck[cards]
        memo[position] = number
    to_deal[0] = cards if cards > 0 else size
    shown = n_positions - first
    if cards > 0 or dealt == shown:
        return
    # The items just dealt are now first in the deck; the list is filled from the others.
    for i in range(dealt, shown):
        swap_at_random(rng, deck, i, i, size)
        ranking[first + i] = deck[i]
    shuffle(rng, ranking, first, n_positions)
    for position in range(first, n_positions):
        memo[position] = number
        for i in range(dealt, shown):
            if deck[i] == ranking[position]:
                memo[position] = 0


@lean_kernel
def draw_card(cards: Ints, kinds: Ints, rng: np.random.Generator) -> int:
    """Draw a random card from a deck with ``cards[kind]`` of each kind; return its index in kinds.

    Only these kinds are in the deck. If none has a card, which can only happen with a damaged
    state, the card is of the last kind.
    """
    left = 0
    for kind in kinds:
        left += cards[kind]
    left = int(rng.random() * left)
    place = 0
    while place + 1 < kinds.shape[0] and left >= cards[kinds[place]]:
        left -= cards[kinds[place]]
        place += 1
    cards[kinds[place]] -= 1
    return place
