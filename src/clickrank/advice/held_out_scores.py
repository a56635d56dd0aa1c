"""How well fitted click models foretell clicks that they have not seen."""

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

#: Share of lists that every model is taken to know nothing of but the click rate of positions.
STRAY = 0.01
#: Views that each pair is taken to have had more when models are fitted, clicked as is typical: or
#: a click on what was shown once without one would be impossible.
SHRINKAGE = 1.0
#: What positions alone tell is scored too, as a model of this name.
POSITIONS = "positions alone"
LEVEL = 0.95


class HeldOut(NamedTuple):
    """Lists to score models on, and what is needed to score them all alike."""

    sessions: Sessions
    rates: Floats  # (n_positions,), of clicks in training, above 0 and below 1
    whole_lists: bool  # False if rows are single displays, as lists are not known
    unseen: int  # lists left out, as one of their items was never shown in training

    @property
    def n(self) -> int:
        """How many lists there are."""
        return int(self.sessions.times.sum())

    @property
    def row(self) -> str:
        """What is scored."""
        return "list" if self.whole_lists else "display"


@dataclasses.dataclass(frozen=True, eq=False)
class Score:
    """How well one model foretells the lists held out.

    Users are taken to be of two kinds: with probability 0.99 they click as the model says, else
    on each position at its overall click rate, whatever is shown. So every model gives every list a
    probability, also those that exclude what did happen, as a cascade excludes two clicks: which
    costs them dearly, and not everything. It is the same for all models; of a model that is right
    it takes at most 0.01 a list.

    Parameters
    ----------
    name
        Of the click model.
    log_likelihood
        Mean over lists of the log-probability of all clicks on a list, with its interval.
    perplexity
        At each position: 2 to the power of minus the mean log2 of the probability of what happened
        there, click or none, from the model's click probabilities. 1 is perfect, 2 a coin; NaN at
        positions without lists.
    overall_perplexity
        The same over all positions.
    impossible
        Share of lists that the model itself gives no chance at all.
    alone
        Mean log-likelihood by the model itself; minus infinity if any list is impossible.
    by_row
        Log-probabilities, one a row of the lists held out.
    """

    name: str
    log_likelihood: MeanInterval[float]
    perplexity: Floats
    overall_perplexity: float
    impossible: float
    alone: float
    by_row: Floats


def held_out(train: Counts, test: Counts) -> HeldOut:
    """Return what of the test counts models can be scored on, which are fitted to the others.

    Both must have the same pairs. A list with an item that was never shown in training for its
    query is left out: of that no model says anything.
    """
    sessions = _displays(test) if test.sessions is None else test.sessions
    seen = np.zeros(train.n_pairs + 1, dtype=np.bool_)
    seen[train.cells.pair[train.cells.shown > 0]] = True
    seen[NOTHING] = True  # the last, where no item is
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
    """Fit the click model of this name, all with the same shrinkage."""
    return FITS[name](counts, shrinkage=SHRINKAGE)


def score(fit: Fit, held: HeldOut) -> Score:
    """Score a model that was fitted to other lists."""
    alone = fit.log_probabilities(held.sessions)
    return _score(fit.name, held, fit.click_probabilities(held.sessions), alone)


def score_positions(held: HeldOut) -> Score:
    """Score what is known without looking at items: the click rate of each position."""
    shown = held.sessions.items != NOTHING
    return _score(POSITIONS, held, np.where(shown, held.rates, 0.0), _stray(held))


def _stray(held: HeldOut) -> Floats:
    """Return the log-probability of each list if users click at the rate of the position."""
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
    """Scores from the best on, and what the differences between them are worth.

    Parameters
    ----------
    scores
        By falling log-likelihood.
    behind
        How far each is behind the best, a list; all intervals hold together with 95 %.
    equals
        Names of the best and of those not distinguishable from it, from the simplest on.
    ruled_out
        Those of them that the whole log excludes, as special cases of another (`nested`).
    """

    scores: tuple[Score, ...]
    behind: dict[str, MeanInterval[float]]
    equals: tuple[str, ...]
    ruled_out: dict[str, str] = {}  # noqa: RUF012 (never changed)

    @property
    def best(self) -> str:
        """The model of the largest held-out likelihood."""
        return self.scores[0].name

    @property
    def winner(self) -> str:
        """The simplest model not distinguishable from the best, or the richer that rules it out."""
        name = self.equals[0]
        while name in self.ruled_out:
            name = self.ruled_out[name]
        return name


def ranked(scores: Sequence[Score], held: HeldOut) -> Ranking:
    """Compare scores list by list."""
    order = sorted(scores, key=lambda s: (-s.log_likelihood.mean, simplicity(s.name)))
    times = held.sessions.times
    behind = {
        s.name: weighted_mean_interval(order[0].by_row - s.by_row, times, LEVEL, len(order) - 1)
        for s in order[1:]
    }
    equals = [order[0].name, *(name for name, gap in behind.items() if gap.low <= 0.0)]
    return Ranking(tuple(order), behind, tuple(sorted(equals, key=simplicity)))


def simplicity(name: str) -> tuple[float, str]:
    """Return what to sort models by: the simplest first, what is no click model last."""
    known = CLICK_MODELS[name].complexity if name in CLICK_MODELS else math.inf
    return known, name
