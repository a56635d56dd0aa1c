"""`diagnose`: which click model a log speaks for, what positions do, and what it cannot tell."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

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
from clickrank.errors import DoesNotApply, invalid, unknown
from clickrank.fit import FITS, Fit, PBMFit
from clickrank.logs import Counts
from clickrank.stats.intervals import NORMAL_95

#: Share of the lists that models are scored on; they are fitted to the others.
TEST_SHARE = 0.25
Say = Callable[[str], None]


class Effect(NamedTuple):
    """A parameter of a position, with its 95 % interval; NaN where the log does not tell it."""

    model: str
    parameter: str
    position: int  # from 1 on
    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class Diagnosis:
    """What a log says of how people click.

    Parameters
    ----------
    counts
        The log.
    held
        The lists that models were scored on.
    n_train
        How many lists they were fitted to.
    ranking
        Scores from the best on, with how far each is behind, and which is the winner.
    baseline
        The score of click rates by position, whatever is shown.
    left_out
        Models that cannot be fitted to this log, with the reason.
    effects
        What positions do, by the position-based model and by the winner, fitted to the whole log.
    cannot_tell
        Sentences.
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
        """Whether any item was shown at two positions: else a log does not tell what these do."""
        return not always_one_order(self.counts)

    @property
    def tells_items(self) -> bool:
        """Whether a model foretells more than the click rate of each position does."""
        return self.ranking.scores[0].log_likelihood.mean > self.baseline.log_likelihood.mean

    def verdict(self) -> list[str]:
        """Say in words which model wins, and by how much."""
        ranking, row = self.ranking, self.held.row
        out = ranking.ruled_out
        others = [name for name in ranking.equals if name != ranking.winner and name not in out]
        said = []
        if not self.tells_positions:
            said.append(
                "This log cannot tell how people click: every item was always shown at the same "
                "position, so that clicks for an item and clicks for its place look the same. That "
                "a model is the simplest here is no evidence for it."
            )
        if not self.tells_items:
            said.append(
                "No model foretells more than the click rate of each position does, whatever is "
                "shown: of items this log says nothing that lasts."
            )
        if len(ranking.scores) == 1:
            said.append(f"{ranking.winner} is the only click model fitted.")
        elif not others and ranking.winner == ranking.best:
            second = ranking.scores[1].name
            gap = ranking.behind[second]
            said.append(
                f"{ranking.winner} foretells clicks best: by {gap.mean:.4f} a {row} "
                f"({gap.low:.4f} to {gap.high:.4f}) in log-likelihood before {second}, the next."
            )
        elif not others:
            said.append(f"{ranking.winner} is among the models that foretell clicks best.")
        else:
            among = "among" if out else "the simplest of"
            said.append(
                f"{ranking.winner} is {among} the models that foretell clicks best; "
                f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} not distinguishable "
                "from it."
            )
            rest = [s.name for s in ranking.scores if s.name not in ranking.equals]
            if rest:
                gap = ranking.behind[rest[0]]
                said.append(
                    f"The next, {rest[0]}, is {gap.mean:.4f} a {row} behind the best "
                    f"({gap.low:.4f} to {gap.high:.4f})."
                )
        for name, rich in out.items():
            said.append(
                f"{name} foretells about as well, but is ruled out by the whole log: where {rich} "
                "has it as a special case, the intervals of what is more in it exclude that."
            )
        return said

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; what is infinite or not known is null."""
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
    """Fit every click model to a part of a log, and score it on the rest.

    Parameters
    ----------
    counts
        The log.
    models
        Names of click models; by default all that there are fits for.
    test_share
        Share of the lists to score on; each list is drawn by itself.
    seed
        Decides the draw.
    say
        Is called with a line of text whenever there is something to tell.

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
            f"diagnose: there are no clicks in this log ({counts.n_impressions:,} lists or "
            "displays), so that it says nothing of how people click. Is the right column read as "
            "clicks?"
        )
    train, test = counts.split(1.0 - share, check_int("diagnose", "seed", seed, 0))
    held = held_out(train, test)
    if held.n < 2:
        rule = "the log must leave lists to score on, of items shown in the others too"
        raise invalid("diagnose", rule, held.n)
    scores, left_out = [], {}
    for name in names:
        say(f"{name} …")
        try:
            scores.append(score(fitted(name, train), held))
        except DoesNotApply as error:
            left_out[name] = str(error)
    if not scores:
        raise DoesNotApply(f"diagnose: no click model can be fitted: {'; '.join(left_out)}.")
    ranking = ranked(scores, held)
    ranking = ranking._replace(ruled_out=ruled_out(ranking.equals, counts))
    whole_fits = [fitted(name, counts) for name in dict.fromkeys(("pbm", ranking.winner))]
    said = [f"{fit.name}: {sentence}" for fit in whole_fits for sentence in fit.not_identified]
    if held.unseen:
        part = 100.0 * held.unseen / (held.unseen + held.n)
        said.append(
            f"{held.unseen:,} of the {held.row}s held out ({part:.2g} %) have an item that was "
            "never shown for its query in the others; they are not scored."
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
    """Return the models asked for, by default all; a name that is none is an error."""
    chosen = list(FITS) if names is None else list(dict.fromkeys(names))
    for name in chosen:
        if name not in FITS:
            raise unknown("click model to fit", name, FITS)
    if not chosen:
        raise invalid(owner, "models must name a click model", chosen)
    return chosen


def effects_of(fit: Fit) -> list[Effect]:
    """Return what positions do by a fit, with normal intervals within [0, 1].

    NaN where it is not known: positions that no clicked item links to the others.
    """
    found = []
    alone = np.zeros(fit.counts.n_positions, dtype=np.bool_)
    if always_one_order(fit.counts):
        alone[:] = True
    elif isinstance(fit, PBMFit) and fit.part.max(initial=-1) > 0:
        sizes = np.bincount(fit.part[fit.part >= 0])
        alone = (fit.part >= 0) & (fit.part != int(np.argmax(sizes)))
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
