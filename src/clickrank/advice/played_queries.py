"""Queries that policies are played on: the click model fitted to each, and today's reward."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank.advice.held_out_scores import fitted, held_out, ranked, score
from clickrank.advice.nested_models import ruled_out
from clickrank.clickmodels import ClickModel
from clickrank.errors import ClickRankError, DoesNotApply
from clickrank.fit import Fit
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import NOTHING, Cells
from clickrank.logs.resampling import resampled

#: Share of a query's lists that must be at least as long as the lists that are played.
LONG_ENOUGH = 0.5


class Protocol(NamedTuple):
    """How a log becomes click models to play on (gauthier2022, sections 1.3.4 and 4.3).

    The thesis takes the ten most frequent queries, and of each the ten most attractive items and
    the five positions that are examined most, and plays each policy 20 times.

    **Differences**: 1. The first positions are used, as on a real page. 2. An item must have been
    shown several times; otherwise the most attractive items would be those clicked by chance at
    their only display. 3. Each query has the click model that predicts its clicks best.
    """

    queries: int = 10
    items: int = 10
    positions: int = 5
    min_shown: int = 100
    resamples: int = 20


class Today(NamedTuple):
    """The reward of the lists in the log, cut to the positions that are played.

    Shorter lists are left out: they earn less, whatever their order.
    """

    value: float  # reward per list, by the fitted model
    clicks: float  # clicks per list, as counted
    order: Ints  # items of the played model, those shown nearest to the top first
    shorter: int = 0  # number of lists left out


@dataclasses.dataclass(frozen=True, eq=False)
class Query:
    """A query that policies are played on.

    Parameters
    ----------
    name
        The name of the query.
    lists
        The number of its lists; of displays of items if the log has no lists.
    fit
        The name of the click model.
    why
        Why this click model was chosen.
    items
        Names of the items of the model.
    model
        The click model of the most attractive items and the first positions.
    today
        The reward of the lists in the log.
    best
        Value of the model's best list.
    seen
        How many items of the best list were shown often enough at their position in it.
    optimism
        By how much a fit to such a log overrates the gain of its best list over today's lists.
    error
        Standard error of the best list's gain, due to the fit.
    stand_ins
        Fits of other click models, for policies that do not assume this one.
    """

    name: str
    lists: int
    fit: str
    why: str
    items: NDArray[Any]
    model: ClickModel
    today: Today
    best: float
    seen: int
    optimism: float
    error: float
    stand_ins: tuple[ClickModel, ...] = ()

    @property
    def headroom(self) -> float:
        """The best list's gain per list over today's lists, minus the optimism of the fit."""
        return self.best - self.today.value - self.optimism


def most_frequent(counts: Counts, n: int) -> list[str]:
    """Return the names of the queries with the most displays, the most frequent first."""
    of_cell = counts.pair_query[counts.cells.pair]
    shown = np.bincount(of_cell, counts.cells.shown, counts.queries.size)
    return [str(counts.queries[i]) for i in np.argsort(-shown, kind="stable")[:n]]


def prepare(
    counts: Counts,
    names: Sequence[str],
    usual: str,
    protocol: Protocol,
    test_share: float,
    seed: int,
) -> Query:
    """Fit the best click model to a query's counts, and compute the value of today's lists by it.

    ``usual`` is the model of the whole log. It is used unless another model is significantly better
    on this query.
    """
    if not counts.cells.clicked.any():
        raise DoesNotApply("its lists have no clicks")
    chosen, why = _choose(counts, names, usual, test_share, seed)
    fit = fitted(chosen, counts)
    shown = np.bincount(counts.cells.pair, counts.cells.shown, counts.n_pairs)
    eligible = np.flatnonzero(shown >= protocol.min_shown)
    if eligible.size < 2:
        raise DoesNotApply(
            f"{eligible.size} of its items were shown {protocol.min_shown:,} times (--min-shown) "
            "or more, and 2 are needed"
        )
    n_positions = min(protocol.positions, counts.n_positions, int(eligible.size))
    n_positions, shorter = _usual_length(counts, n_positions, protocol.min_shown)
    _check_moved(counts, n_positions, protocol.min_shown)
    full = fit.model()
    worth = np.array([cut(full, 1).value([i]) for i in eligible])
    top = eligible[np.argsort(-worth, kind="stable")[: max(protocol.items, n_positions)]]
    model = cut(full, n_positions, top)
    value = today_value(fit, n_positions)
    best_list = _BestList(fit, eligible, n_positions)
    optimism, error = best_list.optimism(counts, protocol.resamples, seed)
    return Query(
        name=str(counts.queries[0]),
        lists=counts.n_impressions,
        fit=chosen,
        why=why,
        items=counts.pair_item[top],
        model=model,
        today=Today(value, clicks_per_list(counts, n_positions), _order(counts, top), shorter),
        best=model.best_value(),
        seen=_seen(counts, top[model.best_ranking()], protocol.min_shown),
        optimism=max(optimism, 0.0),
        error=error,
        stand_ins=tuple(
            cut(fitted(name, counts).model(), n_positions, top) for name in model.stand_ins
        ),
    )


def _usual_length(counts: Counts, most: int, least: int) -> tuple[int, int]:
    """Return the length of the lists to play, and how many lists of the log are shorter.

    The length is the largest number of positions that at least half of the lists fill.
    """
    if counts.sessions is None:  # the value is a sum over positions
        return most, 0
    sessions, total = counts.sessions, counts.n_impressions
    filled = [int(sessions.times[_full(sessions, k + 1)].sum()) for k in range(most)]
    length = max((k + 1 for k in range(most) if filled[k] >= LONG_ENOUGH * total), default=1)
    full = filled[length - 1]
    if full < least:
        raise DoesNotApply(
            f"{full:,} of its lists fill {length} positions, and {least:,} are needed "
            "(--min-shown) to estimate the reward of today's order"
        )
    return length, total - full


def _full(sessions: Sessions, n_positions: int) -> NDArray[np.bool_]:
    """Return which lists have an item at each of the first positions."""
    found: NDArray[np.bool_] = (sessions.items[:, :n_positions] != NOTHING).all(axis=1)
    return found


def _check_moved(counts: Counts, n_positions: int, least: int) -> None:
    """Raise an error if too few items were shown both at a position and elsewhere.

    The effect of a position is estimated from items that were also shown at other positions, and
    the smaller of the two numbers of displays limits how well. With a handful of such displays a
    fit can give any result, with a small standard error.
    """
    cells = counts.cells
    shown = np.bincount(cells.pair, cells.shown, counts.n_pairs)
    ties = np.minimum(cells.shown, shown[cells.pair] - cells.shown)
    tied = np.bincount(cells.position, ties, counts.n_positions)[:n_positions]
    k = int(np.argmin(tied))
    if n_positions > 1 and tied[k] < least:
        raise DoesNotApply(
            f"its items hardly moved: only {int(tied[k]):,} displays separate the effect of "
            f"position {k + 1} from that of the items, and {least:,} are needed (--min-shown); "
            "show some lists in another order"
        )


def _choose(
    counts: Counts, names: Sequence[str], usual: str, test_share: float, seed: int
) -> tuple[str, str]:
    if len(names) == 1:
        return names[0], "the only model asked for"
    train, test = counts.split(1.0 - test_share, seed)
    held = held_out(train, test)
    if held.n < 2:
        return usual, "best on the whole log; this query has too few lists to compare models"
    ranking = ranked([score(fitted(name, train), held) for name in names], held)
    if usual in ranking.equals:  # the whole log, with more lists, has not ruled it out either
        why = "best on the whole log, and not beaten on this query"
        return usual, why
    ranking = ranking._replace(ruled_out=ruled_out(ranking.equals, counts))
    return ranking.winner, f"predicts the clicks of this query better than {usual}"


def cut(model: ClickModel, n_positions: int, items: Ints | None = None) -> ClickModel:
    """Return the model of a page with these items and the first positions only."""
    if n_positions < model.n_positions:
        model = model.shortened(n_positions)
    return model if items is None else model.relabelled(items)


def today_value(fit: Fit, n_positions: int) -> float:
    """Return the mean value of the lists that fill the first positions, cut to these positions.

    If the log has no lists, it is the sum over positions of the mean click rate of the items shown.
    """
    counts = fit.counts
    if counts.sessions is None:
        return _by_position(counts, n_positions, _click_rates(fit, counts.cells))
    lists, times = _distinct(counts.sessions, n_positions)
    return float(list_values(fit, lists) @ times / times.sum())


def list_values(fit: Fit, lists: Ints) -> Floats:
    """Return the value of each list, as by the click model's ``value`` but for all lists at once.

    It is the sum of the click probabilities, each times the probability that a click satisfies if
    that is the reward. ``lists`` holds pairs of query and item, with `NOTHING` at the end.
    """
    shape = lists.shape
    rows = Sessions(
        lists.astype(np.int32), np.zeros(shape, dtype=np.uint8), np.ones(shape[0], dtype=np.int64)
    )
    clicks = fit.click_probabilities(rows)
    if fit.model().reward == "satisfaction":
        satisfaction: Floats = getattr(fit, "satisfaction")  # noqa: B009 (not of every fit)
        by_position = "satisfaction" in fit.position_fields
        clicks = clicks * (satisfaction[: shape[1]] if by_position else satisfaction[lists])
    total: Floats = clicks.sum(axis=1)
    return total


def clicks_per_list(counts: Counts, n_positions: int) -> float:
    """Return the counted clicks on the first positions, per list that fills them."""
    if counts.sessions is None:
        return _by_position(counts, n_positions, counts.cells.clicked / counts.cells.shown)
    full = _full(counts.sessions, n_positions)
    clicks = counts.sessions.clicks[full, :n_positions].sum(axis=1)
    times = counts.sessions.times[full]
    return float(clicks @ times / times.sum())


def _click_rates(fit: Fit, cells: Cells) -> Floats:
    """Return the click probability of each cell, computed from a list with its item only."""
    rows = np.arange(cells.pair.size)
    items = np.full((rows.size, fit.counts.n_positions), NOTHING, dtype=np.int32)
    items[rows, cells.position] = cells.pair
    alone = Sessions(items, np.zeros(items.shape, dtype=np.uint8), np.ones_like(rows))
    return fit.click_probabilities(alone)[rows, cells.position]


def _by_position(counts: Counts, n_positions: int, rates: Floats) -> float:
    """Return the sum over positions of the mean rate there."""
    cells = counts.cells
    weight = np.bincount(cells.position, cells.shown, counts.n_positions)[:n_positions]
    each = np.bincount(cells.position, cells.shown * rates, counts.n_positions)
    return float((each[:n_positions] / np.maximum(weight, 1)).sum())


def _distinct(sessions: Sessions, n_positions: int) -> tuple[Ints, Ints]:
    """Return the distinct lists that fill the positions, cut to these, and their frequencies."""
    full = _full(sessions, n_positions)
    lists, where = np.unique(sessions.items[full, :n_positions], axis=0, return_inverse=True)
    times = np.bincount(where.reshape(-1), sessions.times[full], lists.shape[0]).astype(np.int64)
    return lists.astype(np.int64), times


def _seen(counts: Counts, shown: Ints, often: int) -> int:
    """Return how many items of a list were shown often at their position in it."""
    cells = counts.cells
    there = np.zeros((counts.n_pairs, counts.n_positions), dtype=np.int64)
    there[cells.pair, cells.position] = cells.shown
    return int((there[shown, np.arange(shown.size)] >= often).sum())


def _order(counts: Counts, items: Ints) -> Ints:
    """Return the indices of these items, sorted by the mean position they were shown at."""
    cells = counts.cells
    shown = np.bincount(cells.pair, cells.shown, counts.n_pairs)
    depth = np.bincount(cells.pair, cells.shown * cells.position, counts.n_pairs)
    found: Ints = np.argsort((depth / np.maximum(shown, 1))[items], kind="stable")
    return found


class _BestList(NamedTuple):
    """The best list of a fit, and the bootstrap of its gain over today's lists.

    The log is resampled with replacement and fitted again. The gain of the resampled fit's best
    list, computed by that fit minus computed by the original fit, estimates the error of the
    original's gain: its mean is the optimism of choosing the list that looks best, and its standard
    deviation is the standard error.
    """

    fit: Fit
    eligible: Ints
    n_positions: int

    def optimism(self, counts: Counts, resamples: int, seed: int) -> tuple[float, float]:
        """Return the mean and the standard deviation of the error of the gain."""
        rng = np.random.default_rng([seed, 7])
        truth = cut(self.fit.model(), self.n_positions, self.eligible)
        today = today_value(self.fit, self.n_positions)
        off = []
        for _ in range(resamples):
            again = resampled(counts, rng)
            try:
                fit = fitted(self.fit.name, again)
            except ClickRankError:
                continue  # no click was drawn, and nothing can be fitted
            page = cut(fit.model(), self.n_positions, self.eligible)
            shown = page.best_ranking()
            claimed = page.value(shown) - today_value(fit, self.n_positions)
            off.append(claimed - (truth.value(shown) - today))
        if len(off) < 2:
            return 0.0, math.inf
        return float(np.mean(off)), float(np.std(off, ddof=1))
