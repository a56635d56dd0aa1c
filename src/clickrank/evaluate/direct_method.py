"""The direct method: the value of a target according to a click model.

V̂ = Σ_A π(A) v̂(A)  (dudik2011)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clickrank._core.arrays import Floats
from clickrank._core.defaults import DEFAULT_CLICK_MODEL
from clickrank._core.validate import check_int
from clickrank.clickmodels import ClickModel
from clickrank.errors import CannotEvaluate
from clickrank.evaluate.click_model_rewards import (
    ModelOrFit,
    check_model,
    expected_rewards,
    model_of,
)
from clickrank.evaluate.estimate import Estimate
from clickrank.evaluate.estimator import LEAST_COVERAGE, Estimator, rewards_of
from clickrank.evaluate.few_clicks import few_clicks_notes, widened_if_few
from clickrank.evaluate.usable_impressions import pairs_of, usable
from clickrank.logs import Impressions
from clickrank.logs.resampling import resampled
from clickrank.rankings.distributions import Mixture, RankingDistribution
from clickrank.stats.intervals import Interval, difference_interval, student_quantile


@dataclass(frozen=True, kw_only=True)
class DirectMethod(Estimator):
    """The direct method: fit a click model to the log, and compute the target's reward by it.

    V̂ = Σ_A π(A) v̂(A), where π is the target and v̂(A) the expected reward of list A by the click
    model. The sum is over all lists of the target, or over draws if there are too many.

    It has little variance and needs no propensities, but has the bias of the click model: it is
    right if people click as the model says, which the estimate itself cannot show.
    `clickrank diagnose` says which model fits the log best.

    **Source**: dudik2011, section 2.1.

    **Differences**: the interval is Student's, from fits to resampled logs. It covers the variance
    of the fit, but not the bias of the model.

    Parameters
    ----------
    model
        A click model, the name of one to fit to the log, or a function from counts to one.
    refits
        Number of fits to resampled logs for the interval; 0 for no interval. A click model that is
        given is not fitted, and has no interval.
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`; ``repeats`` is not used.

    Examples
    --------
    >>> from clickrank.clickmodels import PBM
    >>> from clickrank.evaluate import Mixture
    >>> log = Impressions(np.array(["a", "b"]), np.array([[0, 1]]), np.array([[1, 0]]))
    >>> direct = DirectMethod(model=PBM([0.5, 0.25], [1.0, 0.5]))
    >>> direct.estimate(log, Mixture([[1, 0]], n_items=2)).value
    0.5
    """

    model: ModelOrFit = DEFAULT_CLICK_MODEL
    refits: int = 20

    name = "direct"
    assumes = "Holds if people click as the fitted model says."

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        check_int(type(self).__name__, "refits", self.refits, 0)

    def estimate(
        self,
        log: Impressions | Sequence[Impressions],
        target: RankingDistribution | Sequence[RankingDistribution],
    ) -> Estimate:
        """Return the value of a target according to the click model."""
        notes: list[str] = []
        pairs = []
        for whole_log, wanted in pairs_of(log, target):
            one, about = usable(whole_log, "estimated", lists=True)
            pairs.append((one, wanted))
            notes += [*wanted.notes, *about]
        own = np.concatenate([rewards_of(one, self.reward).sum(axis=1) for one, _ in pairs])
        sizes = np.array([len(one.rankings) for one, _ in pairs])
        every = [wanted.as_mixture(self.seed) for _, wanted in pairs]
        share = sizes / sizes.sum()
        logs = [one for one, _ in pairs]
        notes += self._check_shown(logs, every, share)
        found = [self._of_query(one, lists) for one, lists in zip(logs, every, strict=True)]
        value = float(share @ [v for v, _ in found])
        interval = gain_interval = None
        errors = np.array([error for _, error in found])
        # If all fits agree, the model uses clicks at the target's own positions only.
        at_position = not errors.any()
        pairs_of_lists = zip(logs, every, strict=True)
        counts = [_relevant(one, lists, at_position) for one, lists in pairs_of_lists]
        size, with_clicks = (sum(each) for each in zip(*counts, strict=True))
        if not np.isnan(errors).any():
            error = math.sqrt(float(share**2 @ errors**2))
            half = student_quantile(self.refits, self.level) * error
            interval = Interval(value - half, value + half)
            most = self.largest_reward(max(one.rankings.shape[1] for one in logs))
            interval = widened_if_few(interval, value, with_clicks, size, most, self.level)
            gain_interval = difference_interval(value, interval, own, self.level)
            notes += few_clicks_notes(with_clicks)
            notes.append("The interval does not cover errors of the click model itself.")
        if any(not lists.exact for lists in every):
            notes.append("The target has too many lists: its value is computed from draws.")
        return Estimate(
            estimator=f"{self.name}, {self._model_name()}",
            value=value,
            interval=interval,
            gain=value - float(own.mean()),
            gain_interval=gain_interval,
            bernstein=None,
            level=self.level,
            n=int(sizes.sum()),
            effective_size=math.nan,
            largest_weight=math.nan,
            with_clicks=with_clicks,
            assumes=self.assumes,
            notes=tuple(notes),
        )

    def _check_shown(
        self, logs: Sequence[Impressions], every: Sequence[Mixture], share: Floats
    ) -> list[str]:
        """Raise if no click model can be fitted to the log for the items of the target."""
        if isinstance(self.model, ClickModel):
            return []
        missing = 0.0
        for one, lists, weight in zip(logs, every, share, strict=True):
            first = one.rankings[:1]
            same = (one.rankings == first).all()
            if same and lists.prefix_probabilities(first)[0, -1] < 1.0 - 1e-9:
                raise CannotEvaluate(
                    "No randomness: the log always shows the same list, and no click model can "
                    "be fitted to it."
                )
            never = np.bincount(one.rankings.ravel(), minlength=len(one.items)) == 0
            missing += weight * float(lists.marginals()[never].sum()) / lists.n_positions
        if missing > 1.0 - LEAST_COVERAGE:
            raise CannotEvaluate(
                f"No overlap: about {100 * missing:.0f} % of the items that the policy shows are "
                "never shown in the log, and no click model can be fitted to them."
            )
        if missing < 1e-9:
            return []
        return [
            f"{100 * missing:.2f} % of the items that the policy shows are never shown in the log: "
            "the model knows nothing about these."
        ]

    def _of_query(self, log: Impressions, lists: Mixture) -> tuple[float, float]:
        """Return the value of one query and its standard error, NaN without refits."""
        owner = type(self).__name__
        if isinstance(self.model, ClickModel):
            check_model(self.model, log, owner)
            return self._value(self.model, lists), math.nan
        counts = log.counts()
        value = self._value(model_of(self.model, counts, owner), lists)
        if self.refits < 2:
            return value, math.nan
        rng = np.random.default_rng(self.seed)
        others = [
            self._value(model_of(self.model, resampled(counts, rng), owner), lists)
            for _ in range(self.refits)
        ]
        return value, float(np.std(others, ddof=1))

    def _value(self, model: ClickModel, lists: Mixture) -> float:
        """Return the expected reward of the target by a click model."""
        expected = expected_rewards(model, lists.rankings, self.reward).sum(axis=1)
        return float(lists.probabilities @ expected)

    def _model_name(self) -> str:
        if isinstance(self.model, ClickModel):
            return self.model.name
        return self.model if isinstance(self.model, str) else "fitted"


def _relevant(log: Impressions, lists: Mixture, at_position: bool) -> tuple[int, int]:
    """Return how many impressions show an item of the target, and how many have a click on one.

    With ``at_position``, items count only at positions where the target shows them.
    """
    table = lists.marginals()
    if not at_position:
        table = np.broadcast_to(table.sum(axis=1, keepdims=True), table.shape)
    theirs = table[log.rankings, range(table.shape[1])] > 0.0
    clicked = theirs & (log.clicks > 0)
    return int(theirs.any(axis=1).sum()), int(clicked.any(axis=1).sum())
