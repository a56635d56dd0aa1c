"""dcmKL-UCB: sorts items by a KL confidence bound, and learns from lists with several clicks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints, IntStatistic, Vector
from clickrank.errors import invalid
from clickrank.numerics.kl_bounds import exploration_budget, kl_upper
from clickrank.policies._shared.observation import (
    DEPENDENT_RULES,
    LAST_CLICK_CAUTION,
    positions_seen,
)
from clickrank.policies.capabilities import HasCautions, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import (
    Assumes,
    KnownModel,
    Policy,
    check_length,
    satisfaction_unknown,
    set_probabilities,
)
from clickrank.policies.registration import register
from clickrank.rankings.selection import visibility


class State(NamedTuple):
    """Observations of each item."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items,), T(e) · ŵ(e)
    misses: IntStatistic  # (n_items,), T(e) - clicks


class Params(NamedTuple):
    """Constants."""

    visibility: Floats  # (n_positions,), larger where satisfaction is larger
    rule: int  # the rule for observed positions, see `positions_seen`


@dataclass(frozen=True)
class DCMKLUCB(Policy, ItemsComeAndGo, HasCautions):
    """dcmKL-UCB sorts items by a KL upper confidence bound of their attraction.

    People scan from the top and click all items that attract them, until a click satisfies. They
    examined everything down to their last click; what they did after it is unknown.

    U_t(e) = max{q ∈ [ŵ(e), 1] : T(e) · d(ŵ(e), q) ≤ log t + 3 log log t}, where ŵ(e) is the click
    rate of item e in its T(e) observations: those at or above the last click, or anywhere in a list
    without a click. The item with the largest U_t goes to the position whose clicks satisfy most.

    **Assumes**: dependent clicks, of which the cascade is a special case; the order of the
    positions by satisfaction, but not its values. No horizon.

    **Source**: katariya2016, Algorithm 1.

    **Differences**: 1. The paper observes each item once before it starts; here an item without an
    observation has an infinite bound. 2. Ties are broken at random. 3. With late feedback t - 1
    is the number of rounds whose clicks have come back. 4. log log t is taken as 0 up to t = e.
    5. Counting down to the last click is biased: an item above it without a click counts only
    because a click followed, and one with a click counts in any case. Items therefore look more
    attractive than they are, especially at lower positions (with attraction .4 and satisfaction .5:
    .400, .440 and .542 at the first three positions), and may stay in the wrong order for ever.
    This is the paper's rule and the default; ``observe="first-click"`` counts down to the first
    click, which has no bias but fewer observations.

    **Complexity**: as for CascadeKL-UCB.

    **Guarantee**: katariya2016 proves regret of order log T, without regard to the bias: with
    attractions .5, .45, …, .25 and satisfaction .8, .6, .4, .2 regret is linear, 421 in 100,000
    rounds and 3,484 in 1,000,000 (6 runs, seed 1), but 64 and 105 with ``observe="first-click"``.

    Parameters
    ----------
    satisfaction
        Probability that a click at each position satisfies, of which only the order is used. The
        default is that of the click model, if it has one, and else decreasing.
    observe
        Items count as observed down to the "last-click" or to the "first-click".

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.DCM([0.6, 0.4, 0.2], satisfaction=[0.5, 0.7])
    >>> cr.simulate("dcm-kl-ucb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "dcm-kl-ucb"
    assumes = Assumes(click_models=("dcm",), known=("satisfaction",))
    by_item = ("clicks", "misses")
    cautions = (LAST_CLICK_CAUTION,)

    satisfaction: Vector | None = None
    observe: Literal["last-click", "first-click"] = "last-click"

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.satisfaction is not None:
            set_probabilities(self, "satisfaction", low_open=False)
        if self.observe not in DEPENDENT_RULES:
            rule = f"observe must be one of {', '.join(DEPENDENT_RULES)}"
            raise invalid("DCMKLUCB", rule, self.observe)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        satisfaction = np.zeros(n_positions)
        if self.satisfaction is not None:
            satisfaction = check_length(self, "satisfaction", n_positions)
        return Params(visibility(satisfaction), DEPENDENT_RULES[self.observe])

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros(n_items, dtype=np.int64),
            misses=np.zeros(n_items, dtype=np.int64),
        )

    def warnings(self) -> list[str]:
        """Return the caution about the default rule, if it is used."""
        return [LAST_CLICK_CAUTION] if self.observe == "last-click" else []

    def why_not(self, model: KnownModel) -> str | None:
        """Return why the policy's assumptions do not hold for a click model; None if they do."""
        return satisfaction_unknown(self.satisfaction, model) or super().why_not(model)


def score(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Write U_t(e) for each item; the best goes where clicks satisfy most."""
    delta = exploration_budget(state.rounds[0] + 1.0)
    for item in range(items.shape[0]):
        items[item] = math.inf
        if state.clicks[item] + state.misses[item] > 0:
            items[item] = kl_upper(state.clicks[item], state.misses[item], delta)
    positions[:] = params.visibility


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses down to the last click, or to the first."""
    state.rounds[0] += 1
    for position in range(positions_seen(params.rule, clicks)):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.misses[item] += 1 - clicks[position]


register(DCMKLUCB, State, score=score, update=update, draw_ties=True)
