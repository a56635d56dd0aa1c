"""Diagnosis of a click log: which click model fits, what positions do, what stays unknown."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from clickrank._core.progress import Say
from clickrank._core.validate import check_float, check_int
from clickrank.advice.held_out_scores import (
    LEVEL,
    STRAY,
    HeldOut,
    Ranking,
    Score,
    fitted,
    held_out,
    ranked,
    score,
    score_positions,
)
from clickrank.advice.identifiability import always_one_order, limits_of
from clickrank.advice.nested_models import ruled_out
from clickrank.clickmodels import CLICK_MODELS
from clickrank.errors import DoesNotApply, invalid, unknown
from clickrank.fit import FITS, Fit
from clickrank.logs import Counts
from clickrank.stats.intervals import NORMAL_95

#: Share of the lists that models are scored on; models are fitted to the rest.
TEST_SHARE = 0.25


class Effect(NamedTuple):
    """A parameter of a position with its 95 % interval; NaN where the log does not identify it."""

    model: str
    parameter: str
    position: int  # from 1 on
    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class Diagnosis:
    """How people click, as far as a log shows it.

    Parameters
    ----------
    counts
        The log.
    held
        The lists held out for scoring models.
    n_train
        The number of lists that models were fitted to.
    ranking
        The models by score, the best first, how far each is behind, and the winner.
    baseline
        The score of predicting each position's click rate, whatever item is shown.
    left_out
        Models that cannot be fitted to this log, each with the reason.
    effects
        Position effects of the position-based model and of the winner, fitted to the whole log.
    cannot_tell
        Sentences on what the log does not show.
    """

    counts: Counts
    held: HeldOut
    n_train: int
    ranking: Ranking
    baseline: Score
    left_out: dict[str, str]
    effects: tuple[Effect, ...]
    cannot_tell: tuple[str, ...]

    @property
    def winner(self) -> str:
        """The simplest click model not distinguishable from the best; see `Ranking.winner`."""
        return self.ranking.winner

    @property
    def tells_positions(self) -> bool:
        """Whether an item was shown at two positions: only then can position effects be learned."""
        return not always_one_order(self.counts)

    @property
    def tells_items(self) -> bool:
        """Whether some model predicts clicks better than the click rate of each position does."""
        return self.ranking.scores[0].log_likelihood.mean > self.baseline.log_likelihood.mean

    def verdict(self) -> list[str]:
        """Return sentences: which model wins, and by how much."""
        ranking, row = self.ranking, self.held.row
        out = ranking.ruled_out
        others = [name for name in ranking.equals if name != ranking.winner and name not in out]
        said = []
        if not self.tells_positions:
            said.append(
                "This log cannot show how people click: every item was always shown at the same "
                "position, so the effect of an item and the effect of its position look the same. "
                "The simplest model is listed first, but the log is no evidence for it."
            )
        if not self.tells_items:
            said.append(
                "No model predicts clicks better than the click rate of each position does: this "
                "log says nothing reliable about items."
            )
        if len(ranking.scores) == 1:
            said.append(f"{ranking.winner} is the only click model fitted.")
        elif not others and ranking.winner == ranking.best:
            second = ranking.scores[1].name
            gap = ranking.behind[second]
            said.append(
                f"{ranking.winner} predicts clicks best: its log-likelihood per {row} is higher by "
                f"{gap.mean:.4f} ({gap.low:.4f} to {gap.high:.4f}) than that of the next, {second}."
            )
        elif not others:
            said.append(f"{ranking.winner} is among the models that predict clicks best.")
        else:
            among = "among" if out else "the simplest of"
            said.append(
                f"{ranking.winner} is {among} the models that predict clicks best; "
                f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} not distinguishable "
                "from it."
            )
            rest = [s.name for s in ranking.scores if s.name not in ranking.equals]
            if rest:
                gap = ranking.behind[rest[0]]
                said.append(
                    f"The next, {rest[0]}, is {gap.mean:.4f} per {row} behind the best "
                    f"({gap.low:.4f} to {gap.high:.4f})."
                )
        for name, rich in out.items():
            said.append(
                f"{name} predicts about as well, but the whole log rules it out: it is a special "
                f"case of {rich}, and the intervals of the additional parameters exclude that case."
            )
        return said

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; infinite and unknown numbers are null."""
        return {
            "lists": self.counts.n_impressions,
            "lists_known": self.held.whole_lists,
            "queries": int(self.counts.queries.size),
            "pairs": self.counts.n_pairs,
            "positions": self.counts.n_positions,
            "train": self.n_train,
            "test": self.held.n,
            "unseen": self.held.unseen,
            "stray": STRAY,
            "level": LEVEL,
            "winner": self.winner,
            "best": self.ranking.best,
            "not_distinguishable": list(self.ranking.equals),
            "ruled_out": self.ranking.ruled_out,
            "verdict": self.verdict(),
            "models": [
                {**_plain(s), "behind": _estimate(self.ranking.behind.get(s.name))}
                for s in self.ranking.scores
            ],
            "positions_alone": _plain(self.baseline),
            "left_out": self.left_out,
            "position_effects": [
                {k: _finite(v) for k, v in effect._asdict().items()} for effect in self.effects
            ],
            "cannot_tell": list(self.cannot_tell),
        }


def diagnose(
    counts: Counts,
    *,
    models: Iterable[str] | None = None,
    test_share: float = TEST_SHARE,
    seed: int = 0,
    say: Say = lambda text: None,
) -> Diagnosis:
    """Fit every click model to one part of a log, and score it on the rest.

    Parameters
    ----------
    counts
        The counts of the log.
    models
        Names of click models; by default all that can be fitted.
    test_share
        Share of the lists held out for scoring; each list is drawn independently.
    seed
        Seed of the split.
    say
        Called with one line of text for each step.

    Examples
    --------
    >>> import numpy as np, clickrank as cr
    >>> rng = np.random.default_rng(0)
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [1.0, 0.5, 0.2])
    >>> lists = np.array([rng.permutation(3) for _ in range(3000)])
    >>> clicks = np.array([model.sample(shown, rng) for shown in lists])
    >>> diagnose(Counts.of_lists(lists, clicks), models=["dctr", "pbm"]).winner
    'pbm'
    """
    share = check_float("diagnose", "test_share", test_share, 0.0, 1.0)
    names = known_models("diagnose", models)
    if not counts.cells.clicked.any():
        raise DoesNotApply(
            f"diagnose: this log has no clicks ({counts.n_impressions:,} lists or displays), so "
            "nothing can be learned about how people click. Check which column is read as clicks."
        )
    train, test = counts.split(1.0 - share, check_int("diagnose", "seed", seed, 0))
    held = held_out(train, test)
    if held.n + held.unseen < 2:
        raise DoesNotApply(
            f"diagnose: at least 2 held-out {held.row}s are needed, got {held.n + held.unseen} of "
            f"{counts.n_impressions:,}. Use a longer log, or hold out a larger share of it."
        )
    if held.n < 2:
        rule = "the log must have at least 2 held-out lists whose items are all in the other lists"
        raise invalid("diagnose", rule, held.n)
    scores, left_out = [], {}
    for name in names:
        say(f"fitting {name} …")
        try:
            scores.append(score(fitted(name, train), held))
        except DoesNotApply as error:
            left_out[name] = str(error)
    if not scores:
        raise DoesNotApply(f"diagnose: no click model can be fitted: {'; '.join(left_out)}.")
    ranking = ranked(scores, held)
    ranking = ranking._replace(ruled_out=ruled_out(ranking.equals, counts))
    known = [name for name in FITS if CLICK_MODELS[name].always_reported]
    whole_fits = [fitted(name, counts) for name in dict.fromkeys((*known, ranking.winner))]
    said = [f"{fit.name}: {sentence}" for fit in whole_fits for sentence in fit.not_identified]
    if held.unseen:
        part = 100.0 * held.unseen / (held.unseen + held.n)
        said.append(
            f"{held.unseen:,} of the held-out {held.row}s ({part:.2g} %) are not scored: they show "
            "an item that was never shown for its query in the other lists."
        )
    return Diagnosis(
        counts=counts,
        held=held,
        n_train=train.n_impressions,
        ranking=ranking,
        baseline=score_positions(held),
        left_out=left_out,
        effects=tuple(e for fit in whole_fits for e in effects_of(fit)),
        cannot_tell=(*limits_of(counts), *said),
    )


def known_models(owner: str, names: Iterable[str] | None) -> list[str]:
    """Return the names of the models asked for, by default all; an unknown name is an error."""
    chosen = list(FITS) if names is None else list(dict.fromkeys(names))
    for name in chosen:
        if name not in FITS:
            raise unknown("click model to fit", name, FITS)
    if not chosen:
        raise invalid(owner, "models must name a click model", chosen)
    return chosen


def effects_of(fit: Fit) -> list[Effect]:
    """Return the position effects of a fit, with normal intervals cut to [0, 1].

    They are NaN where the log does not identify them: at positions that no clicked item links to
    the others.
    """
    found = []
    alone = fit.unlinked_positions()
    if always_one_order(fit.counts):
        alone[:] = True
    for parameter, (values, errors) in fit.position_effects.items():
        for k, (value, error) in enumerate(zip(values.tolist(), errors.tolist(), strict=True)):
            half = NORMAL_95 * error
            low, high = max(value - half, 0.0), min(value + half, 1.0)
            if not math.isfinite(half):
                low = high = math.nan
            if alone[k]:
                value = low = high = math.nan
            found.append(Effect(fit.name, parameter, k + 1, value, low, high))
    return found


def _plain(s: Score) -> dict[str, Any]:
    return {
        "model": s.name,
        "log_likelihood": _estimate(s.log_likelihood),
        "perplexity": [_finite(x) for x in s.perplexity.tolist()],
        "overall_perplexity": s.overall_perplexity,
        "impossible": s.impossible,
        "log_likelihood_alone": _finite(s.alone),
    }


def _estimate(value: Any) -> dict[str, float | None] | None:
    return None if value is None else {k: _finite(v) for k, v in value._asdict().items()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
