"""Bounds of KL indices that follow the counts, and the proof that a list remains the best."""

from __future__ import annotations

import numpy as np
import pytest

from clickrank.fast._shared.kl_index_cache import index, no_indices
from clickrank.fast._shared.lasting_lead import AHEAD, end, lasts, no_lead, prove
from clickrank.fast._shared.near_indices import above, below, change, compute, no_near_indices
from clickrank.numerics.assignment import exchange_cost, exchange_costs
from clickrank.numerics.kl_bounds import exploration_budget, kl_upper, kl_upper_table

CELL = (0, 0)


@pytest.mark.parametrize("clicks", [0, 1, 2, 5, 60, 40_000])
@pytest.mark.parametrize("misses", [0, 1, 3, 100, 60_000])
def test_an_index_is_between_its_bounds_after_clicks_and_misses(clicks: int, misses: int) -> None:
    rng = np.random.default_rng(clicks + misses)
    for then in (0.5, 8.0, 20.0):
        for more in (0, 1, 2, 30, 1000):
            wins = int(rng.binomial(more, 0.3))
            for a, b in ((wins, more - wins), (more, 0), (0, more)):
                for now in (then, then + 1e-6, then + 0.3, 0.9 * then):
                    near = no_near_indices((1, 1))
                    counts = np.array([[clicks]]), np.array([[misses]])
                    assert compute(near, *counts, CELL, then) == near.value[CELL]
                    if more > 0:
                        change(near, CELL)
                    after = counts[0] + a, counts[1] + b
                    exact = kl_upper(clicks + a, misses + b, now)
                    assert above(near, *after, CELL, now) >= exact - 1e-11
                    assert below(near, *after, CELL, now) <= exact + 1e-11


def test_the_bounds_are_close_if_counts_change_little() -> None:
    near = no_near_indices((1, 1))
    counts = np.array([[300_000]]), np.array([[700_000]])
    compute(near, *counts, CELL, 20.0)
    for array in counts:
        array += 3
    change(near, CELL)
    high, low = (bound(near, *counts, CELL, 20.0 + 1e-6) for bound in (above, below))
    assert high - low < 1e-8
    assert near.delta[CELL] == 20.0  # nothing was computed


def test_a_list_has_the_largest_sum_while_its_lead_lasts() -> None:
    rng = np.random.default_rng(2)
    proved = lasted = ended = 0
    for trial in range(300):
        n_items, n_positions = int(rng.integers(2, 6)), int(rng.integers(1, 3))
        shape = n_items, n_positions
        views = rng.integers(50, 2000, shape)
        clicks = rng.binomial(views, rng.uniform(0.02, 0.6, shape))
        misses = views - clicks
        rounds = int(rng.integers(100, 10_000))
        best = rng.permutation(n_items)[:n_positions]
        # The cells of the list get an advantage, so that it usually leads.
        clicks[best, np.arange(n_positions)] += rng.integers(0, 2000, n_positions)
        indices, lead = no_indices(shape), no_lead(n_positions)
        delta = exploration_budget(rounds + 1.0)
        for item in range(n_items):
            for position in range(n_positions):
                index(indices, clicks, misses, (item, position), delta)
        values = kl_upper_table(clicks, misses, exploration_budget(rounds + 1.0 + AHEAD))
        cells = best, np.arange(n_positions)
        values[cells] = indices.value[cells]
        used, graph = np.zeros(n_items, dtype=np.int64), np.zeros((n_positions + 1,) * 2)
        if exchange_costs(values, best, used, graph, lead.margin) <= 1e-7:
            continue
        prove(lead, clicks, misses, indices, best, rounds)
        proved += lead.rounds[1] > 0
        for later in range(rounds, rounds + AHEAD + 2):
            if not lasts(lead, clicks, misses, best, later):
                ended += 1
                break
            lasted += 1
            exact = kl_upper_table(clicks, misses, exploration_budget(later + 1.0))
            assert exchange_cost(exact, best, used, graph) > 0.0, trial
            clicked = rng.random(n_positions) < rng.uniform(0.0, 0.5)
            clicks[cells] += clicked
            misses[cells] += ~clicked
        else:
            pytest.fail("the proof must end")
        end(lead)
        assert not lasts(lead, clicks, misses, best, rounds)
    assert proved > 100
    assert lasted > 1000
    assert ended > 100
