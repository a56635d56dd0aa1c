"""Scores of click models on held-out lists: log-likelihood, perplexity and their ranking."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.clickmodels import CLICK_MODELS
from clickrank.fit import FITS, Fit
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import NOTHING
from clickrank.stats.intervals import MeanInterval, weighted_mean_interval

#: Every model is mixed with the click rates of positions; this is their weight in the mixture.
STRAY = 0.01
#: Pseudo-views added to each pair of query and item when models are fitted, clicked at the typical
#: rate. Without them, a click on an item whose only view had no click would be impossible.
SHRINKAGE = 1.0
#: The name under which the click rates of positions are scored, for comparison.
POSITIONS = "positions alone"
LEVEL = 0.95


class HeldOut(NamedTuple):
    """Held-out lists, and the click rates of positions that every model is mixed with."""

    sessions: Sessions
    rates: Floats  # (n_positions,): click rates in the training lists, above 0 and below 1
    whole_lists: bool  # False if the log has single displays instead of lists
    unseen: int  # lists left out because an item was never shown in training

    @property
    def n(self) -> int:
        """The number of lists."""
        return int(self.sessions.times.sum())

    @property
    def row(self) -> str:
        """The word for one scored row."""
        return "list" if self.whole_lists else "display"


@dataclasses.dataclass(frozen=True, eq=False)
class Score:
    """How well one model predicts the held-out lists.

    Each model is mixed with a simple one: a user clicks as the model says with probability 0.99,
    otherwise on each position at its overall click rate, whatever is shown. The mixture gives every
    list a positive probability, even where the model itself excludes what happened, as a cascade
    excludes two clicks. Such a list costs the model much, but not everything. All models are mixed
    in the same way; a correct model loses at most 0.01 in log-likelihood per list.

    Parameters
    ----------
    name
        The name of the click model.
    log_likelihood
        Mean over lists of the log-probability of all clicks on a list, with its interval.
    perplexity
        Perplexity at each position: 2 to the power of minus the mean log2 of the probability of
        what happened there, click or no click. 1 is perfect, 2 is a coin flip; NaN at positions
        that no list reaches.
    overall_perplexity
        Perplexity over all positions.
    impossible
        Share of lists to which the model itself gives probability 0.
    alone
        Mean log-likelihood of the model itself; minus infinity if a list is impossible.
    by_row
        Log-probabilities, one per row of the held-out lists.
    """

    name: str
    log_likelihood: MeanInterval[float]
    perplexity: Floats
    overall_perplexity: float
    impossible: float
    alone: float
    by_row: Floats


def held_out(train: Counts, test: Counts) -> HeldOut:
    """Return the test lists on which models fitted to the training counts can be scored.

    Both must have the same pairs of query and item. A list with an item that was never shown for
    its query in training is left out, because no model predicts anything about it.
    """
    sessions = _displays(test) if test.sessions is None else test.sessions
    seen = np.zeros(train.n_pairs + 1, dtype=np.bool_)
    seen[train.cells.pair[train.cells.shown > 0]] = True
    seen[NOTHING] = True  # the last entry, for empty positions
    known = seen[sessions.items].all(axis=1)
    shown = np.bincount(train.cells.position, train.cells.shown, train.n_positions)
    clicked = np.bincount(train.cells.position, train.cells.clicked, train.n_positions)
    return HeldOut(
        Sessions(sessions.items[known], sessions.clicks[known], sessions.times[known]),
        (clicked + 0.5) / (shown + 1.0),
        test.sessions is not None,
        int(sessions.times[~known].sum()),
    )


def _displays(counts: Counts) -> Sessions:
    """Return each display as a list of one item, at its position."""
    cells = counts.cells
    times = np.concatenate([cells.clicked, cells.shown - cells.clicked])
    rows = np.flatnonzero(times)
    which = rows % cells.pair.size
    items = np.full((rows.size, counts.n_positions), NOTHING, dtype=np.int32)
    clicks = np.zeros(items.shape, dtype=np.uint8)
    place = (np.arange(rows.size), cells.position[which])
    items[place] = cells.pair[which]
    clicks[place] = rows < cells.pair.size
    return Sessions(items, clicks, times[rows])


def fitted(name: str, counts: Counts) -> Fit:
    """Fit the click model of this name, with the shrinkage that all models get."""
    return FITS[name](counts, shrinkage=SHRINKAGE)


def score(fit: Fit, held: HeldOut) -> Score:
    """Score a model that was fitted to other lists."""
    alone = fit.log_probabilities(held.sessions)
    return _score(fit.name, held, fit.click_probabilities(held.sessions), alone)


def score_positions(held: HeldOut) -> Score:
    """Score the click rates of positions, which ignore the items shown."""
    shown = held.sessions.items != NOTHING
    return _score(POSITIONS, held, np.where(shown, held.rates, 0.0), _stray(held))


def _stray(held: HeldOut) -> Floats:
    """Return the log-probability of each list if users click at the rate of each position."""
    shown = held.sessions.items != NOTHING
    each = np.where(held.sessions.clicks == 1, np.log(held.rates), np.log1p(-held.rates))
    total: Floats = np.where(shown, each, 0.0).sum(axis=1)
    return total


def _score(name: str, held: HeldOut, marginal: Floats, alone: Floats) -> Score:
    items, clicks, times = held.sessions.items, held.sessions.clicks, held.sessions.times
    by_row = np.logaddexp(math.log1p(-STRAY) + alone, math.log(STRAY) + _stray(held))
    p = (1.0 - STRAY) * marginal + STRAY * held.rates
    bits = -np.log2(np.where(clicks == 1, p, 1.0 - p))
    weight = np.where(items != NOTHING, times[:, None], 0)
    with np.errstate(invalid="ignore"):  # positions that no list reaches
        perplexity = 2.0 ** ((bits * weight).sum(axis=0) / weight.sum(axis=0))
    impossible = alone == -np.inf
    n = max(held.n, 1)
    return Score(
        name=name,
        log_likelihood=weighted_mean_interval(by_row, times, LEVEL),
        perplexity=perplexity,
        overall_perplexity=float(2.0 ** ((bits * weight).sum() / max(weight.sum(), 1))),
        impossible=float(times[impossible].sum() / n),
        alone=-math.inf if impossible.any() else float(alone @ times / n),
        by_row=by_row,
    )


class Ranking(NamedTuple):
    """The models by score, the best first, and which differences are significant.

    Parameters
    ----------
    scores
        Scores by decreasing log-likelihood.
    behind
        How far each model is behind the best, per list; the intervals hold simultaneously at 95 %.
    equals
        Names of the best model and of those not distinguishable from it, the simplest first.
    ruled_out
        Models in ``equals`` that the whole log rules out, each with the richer model that shows
        it (`nested_models`).
    """

    scores: tuple[Score, ...]
    behind: dict[str, MeanInterval[float]]
    equals: tuple[str, ...]
    ruled_out: dict[str, str] = {}  # noqa: RUF012 (never changed)

    @property
    def best(self) -> str:
        """The model with the largest held-out likelihood."""
        return self.scores[0].name

    @property
    def winner(self) -> str:
        """The simplest model not distinguishable from the best, or the one that rules it out."""
        name = self.equals[0]
        while name in self.ruled_out:
            name = self.ruled_out[name]
        return name


def ranked(scores: Sequence[Score], held: HeldOut) -> Ranking:
    """Return the models ranked by score, with differences taken list by list."""
    order = sorted(scores, key=lambda s: (-s.log_likelihood.mean, simplicity(s.name)))
    times = held.sessions.times
    behind = {
        s.name: weighted_mean_interval(order[0].by_row - s.by_row, times, LEVEL, len(order) - 1)
        for s in order[1:]
    }
    equals = [order[0].name, *(name for name, gap in behind.items() if gap.low <= 0.0)]
    return Ranking(tuple(order), behind, tuple(sorted(equals, key=simplicity)))


def simplicity(name: str) -> tuple[float, str]:
    """Return a sort key: the simplest click model first, names of other things last."""
    known = CLICK_MODELS[name].complexity if name in CLICK_MODELS else math.inf
    return known, name
