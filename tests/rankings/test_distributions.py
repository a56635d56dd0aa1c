"""One probability, however a distribution over rankings is asked for it."""

from __future__ import annotations

import numpy as np
import pytest

from clickrank.errors import CannotEvaluate
from clickrank.learning import Propensities
from clickrank.rankings.closed_form import (
    Concatenation,
    RandomFirstItem,
    RandomReplacements,
    ShuffledBlocks,
    ShuffledSample,
)
from clickrank.rankings.distributions import (
    DrawnRankings,
    Marginals,
    Mixture,
    RankingDistribution,
    UniformLists,
)
from clickrank.rankings.enumeration import all_rankings

DISTRIBUTIONS = [
    ShuffledBlocks([[2], [0, 3], [1, 4]], [1, 0, 1], 5),
    Mixture([[0, 1, 2], [0, 2, 1], [4, 3, 0]], 5, [0.25, 0.5, 0.25]),
    DrawnRankings(np.array([[0, 1, 2], [0, 1, 3], [0, 1, 2]]), 5),
    Concatenation([Mixture([[0], [1]], 5), ShuffledBlocks([[2, 3, 4]], [0, 0], 5)]),
    ShuffledSample(np.array([3, 1]), np.array([0, 2, 4]), 3, 5),
    RandomFirstItem(np.array([0.25, 0.0, 0.5, 0.25, 0.0]), 3),
    RandomReplacements(np.array([4, 2, 0]), 0.3, 5),
    UniformLists(5, 3),
]
EVERY = all_rankings(5, 3)


@pytest.mark.parametrize("one", DISTRIBUTIONS, ids=lambda one: type(one).__name__)
def test_every_way_to_ask_gives_the_same_probability(one: RankingDistribution) -> None:
    assert (one.n_items, one.n_positions) == (5, 3)
    many = one.prefix_probabilities(EVERY)
    table = one.marginals()
    for ranking, prefixes in zip(EVERY, many, strict=True):
        np.testing.assert_allclose(one.prefixes(ranking), prefixes, atol=1e-14)
        cells = table[ranking, np.arange(3)]
        np.testing.assert_allclose(one.item_probabilities(ranking), cells, atol=1e-14)
    written = one.as_mixture()
    np.testing.assert_allclose(written.marginals(), table, atol=1e-14)
    assert written.probabilities.sum() == pytest.approx(1.0, abs=1e-14)
    assert one.exact == (one.standard_error() == 0.0) == (not isinstance(one, DrawnRankings))


@pytest.mark.parametrize("one", DISTRIBUTIONS, ids=lambda one: type(one).__name__)
def test_items_that_cannot_be_shown_have_probability_0(one: RankingDistribution) -> None:
    """The five items are numbers 1 to 5 of a catalogue of seven."""
    found = Propensities(one, 7, 3, np.arange(1, 6))
    for ranking in ([6, 1, 2], [1, 0, 2], [1, 2, 6]):
        items, prefixes = found.of(ranking)
        first = next(k for k, item in enumerate(ranking) if item in (0, 6))
        assert items[first] == 0.0
        assert not prefixes[first:].any()
        inside, begins = found.of([item if item in range(1, 6) else 5 for item in ranking])
        assert items[:first].tolist() == inside[:first].tolist()
        assert prefixes[:first].tolist() == begins[:first].tolist()


def test_too_many_lists_are_drawn_or_refused() -> None:
    drawn = UniformLists(50, 5).as_mixture(seed=3)
    assert not drawn.exact
    assert drawn.rankings.shape == (100_000, 5)
    assert drawn.standard_error() < 0.001
    with pytest.raises(CannotEvaluate, match="more than 100,000 lists"):
        ShuffledBlocks([range(50)], [0] * 5, 50).as_mixture()


def test_marginals_know_no_lists() -> None:
    table = Marginals(np.full((4, 2), 0.25))
    assert table.item_probabilities(np.array([1, 0])).tolist() == [0.25, 0.25]
    for ask in (table.prefixes, table.prefix_probabilities):
        with pytest.raises(CannotEvaluate, match="not which lists"):
            ask(np.array([[1, 0]]))
