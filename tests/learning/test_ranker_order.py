"""A ranker learns from lists in the order shown, whatever order clicks come in."""

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank.errors import InvalidValue
from clickrank.learning.feedback_queue import FeedbackQueue, Pending

BIAS = [1.0, 0.5]


def made(**settings: Any) -> cr.Ranker:
    """Return a ranker whose statistics depend on the order of its lists."""
    return cr.Ranker("epoch-ts", ["a", "b", "c"], 2, seed=4, position_bias=BIAS, **settings)


def learned(ranker: cr.Ranker) -> dict[str, Any]:
    return ranker._contexts[""].statistics()


def settled(ranker: cr.Ranker) -> int:
    return int(learned(ranker)["tally.views"].sum()) // 2


def equal(one: dict[str, Any], two: dict[str, Any]) -> bool:
    return one.keys() == two.keys() and all(np.array_equal(one[k], two[k]) for k in one)


@pytest.mark.parametrize("alpha", [1, 3])
def test_what_is_missing_while_no_clicks_are_late(alpha: int) -> None:
    """One item at one position of bias 1, four lists; clicks come at once, no-clicks much later.

    A list is clicked on with probability α/(1 + α). Clicks less α times the lists without a click
    have mean 0 once all have come. As clicks come, each late list is missing: 4 α/(1 + α) too much,
    2 for α = 1. In the order shown only the first late one is, α (1 - (α/(1 + α))⁴): 15/16.
    """
    chance = Fraction(alpha, 1 + alpha)
    excess = {0: Fraction(0), 100: Fraction(0)}
    in_the_end = Fraction(0)
    for clicked in itertools.product((True, False), repeat=4):
        weight = Fraction(1)
        for each in clicked:
            weight *= chance if each else 1 - chance
        for most_waiting in excess:
            ranker = cr.Ranker("epoch-ucb", ["a"], 1, 0, most_waiting, position_bias=[1.0])
            shown = [ranker.rank() for _ in clicked]
            for click in (True, False):
                for one, each in zip(shown, clicked, strict=True):
                    if each is click:
                        ranker.update(one.id, ["a"] if click else [])
                found = learned(ranker)
                sum_now = int(found["clicks"][0]) - alpha * int(found["exposure"][0])
                if click:
                    excess[most_waiting] += weight * sum_now
                else:
                    in_the_end += weight * sum_now
    late = 1 - chance
    assert excess == {0: 4 * alpha * late, 100: alpha * (1 - chance**4)}
    assert in_the_end == 0
    if alpha == 1:
        assert excess == {0: 2, 100: Fraction(15, 16)}


def test_clicks_in_any_order_are_learned_from_as_shown() -> None:
    as_shown, mixed, as_they_come = made(), made(), made(most_waiting=0)
    order = np.random.default_rng(0).permutation(40)
    for ranker, answers in ((as_shown, range(40)), (mixed, order), (as_they_come, order)):
        shown = [ranker.rank() for _ in range(40)]
        for n in answers:
            ranker.update(shown[n].id, shown[n].items[:1] if n % 3 else [])
        assert (ranker.pending, settled(ranker)) == (0, 40)
    assert equal(learned(as_shown), learned(mixed))
    assert not equal(learned(as_shown), learned(as_they_come))  # so the order does matter


def test_others_wait_until_a_list_is_passed_over() -> None:
    ranker = made(most_waiting=3)
    shown = [ranker.rank() for _ in range(8)]
    other = ranker.rank(context="other")
    ranker.update(other.id)
    assert ranker._contexts["other"].views.sum() == 2  # contexts do not wait for each other
    for n, count in ((2, 0), (1, 0), (3, 0), (4, 4), (6, 4)):
        ranker.update(shown[n].id)
        assert settled(ranker) == count, n
    ranker.update(shown[0].id)  # passed over: it counts when it comes
    assert settled(ranker) == 5
    with pytest.raises(InvalidValue, match="already updated, or dropped"):
        ranker.update(shown[6].id)  # taken in, though not yet learned from
    ranker.forget(shown[5].id)
    assert (ranker.pending, settled(ranker)) == (1, 6)
    with pytest.raises(InvalidValue, match="already updated, or dropped"):
        ranker.forget(shown[5].id)
    with pytest.raises(InvalidValue, match="most_waiting must be a whole number of at least 0"):
        made(most_waiting=-1)


def test_lists_that_wait_are_saved(tmp_path: Path) -> None:
    ranker = made(most_waiting=2)
    shown = [ranker.rank() for _ in range(9)]
    for n in (1, 2, 3, 7, 8):  # 0 is passed over, and 4 to 6 are waited for
        ranker.update(shown[n].id, shown[n].items[:1])
    assert settled(ranker) == 3
    ranker.add_items(["d"])
    ranker.save(tmp_path / "shop.ranker")
    loaded = cr.Ranker.load(tmp_path / "shop.ranker")
    for one in (ranker, loaded):
        for n, count in ((6, 6), (0, 7), (4, 8), (5, 9)):
            one.update(shown[n].id)
            assert settled(one) == count, n
    assert equal(learned(ranker), learned(loaded))
    assert ranker.rank().items == loaded.rank().items


@pytest.mark.parametrize("seed", range(5))
def test_against_a_plain_simulation(seed: int) -> None:
    """Whatever happens, lists come out once, and in order but for those that were passed over."""
    rng = np.random.default_rng(seed)
    most = int(rng.integers(4))
    queue, none = FeedbackQueue(most), np.zeros(0, dtype=np.int64)
    open_: list[int] = []
    held: list[int] = []
    passed: set[int] = set()
    out: list[int] = []
    expected: list[int] = []
    for number in range(300):
        queue.shown(number)
        open_.append(number)
        while open_ and rng.random() < 0.5:
            one = int(rng.choice(open_[-6:]))
            open_.remove(one)
            gone = rng.random() < 0.2
            pending = Pending(str(one), none, none, 0)
            given = queue.gone(one) if gone else queue.answered(one, pending)
            out += [int(row.context) for row in given]
            if not gone and one in passed:
                expected.append(one)
                continue
            held = sorted(held if gone else [*held, one])
            while held:
                earlier = [n for n in open_ if n < held[0] and n not in passed]
                if earlier and len(held) <= most:
                    break
                if earlier:
                    passed.add(min(earlier))
                else:
                    expected.append(held.pop(0))
            assert out == expected
    assert len(out) > 50
