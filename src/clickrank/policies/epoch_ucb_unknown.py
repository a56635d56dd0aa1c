"""Epoch-UCB for unknown position biases, which are estimated together with the attractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints, IntStatistic
from clickrank._core.validate import check_bool, check_choice, check_float
from clickrank.numerics.grid_rounding import rounded
from clickrank.numerics.mnl_curvature import click_effects
from clickrank.numerics.mnl_objective import PULL, Objective, fit_tables, tables_of
from clickrank.policies._shared.epochs import EpochPolicy, ends_epoch, goes_on, no_epochs
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, KnownModel
from clickrank.policies.registration import register
from clickrank.rankings.selection import place, top_k

#: Available estimators, see `clickrank.fit.mnl_composite` and `mnl_em`.
ESTIMATORS = ("composite", "em")


class State(NamedTuple):
    """Clicks and epochs of each item at each position, and the present epoch."""

    epoch: IntStatistic  # (1,), epochs that have ended, l - 1, including those of removed items
    begun: IntStatistic  # (1,), 1 if a list of this epoch has come back with a click
    current: IntStatistic  # (n_positions,), that list, which is shown until it has no click
    clicks: IntStatistic  # (n_items, n_positions), N
    epochs: IntStatistic  # (n_items, n_positions), Ñ: complete epochs with item j at position k


class Params(NamedTuple):
    """Constants."""

    width: float  # c: the bound is α + c β √(log ...)
    squared: int  # 1 for log(J l²), 0 for log(J l), which `EpochUCBStar` has
    largest_index: float  # 1 if attractions are known to be at most 1, else infinite
    objective: Objective  # the function that the estimates minimise, and their bounds


@dataclass(frozen=True)
class EpochUCBUnknown(EpochPolicy):
    """Epoch-UCB for unknown position biases sorts items by an upper confidence bound.

    Attractions and biases are fitted to the clicks of all epochs. The width of an item's bound is
    computed from the change of its estimate that one more click would make.

    The index of item j is α_j + √(36 β_j² log(J l²)) in epoch l, with J items and β_j² = Σ_ik Ñ_ik
    (α_j - α_j^ik)², where (α, λ) are fitted to the clicks N and the epochs Ñ by item and position,
    and α^ik is α with one more click in N_ik. The largest goes to the position with the largest λ,
    and so on.

    **Assumes**: multinomial logit clicks with attractions of at most 1. The first position's bias
    counts as 1; with ``most`` = 1, no other is more prominent. No horizon.

    **Source**: grant2020, Algorithms 1 and 3.

    **Differences**: 1. ``estimator="em"`` is the limit of the printed alternating scheme, to 1e-8
    or better, found by Newton's method (`clickrank.fit.mnl_em`). The source states that it
    maximises eq. 50, the composite likelihood. It does not, but ``"composite"`` does
    (`clickrank.fit.mnl_composite`), with less variance. The likelihood of whole epochs would be a
    few percent better still, but needs every list to be stored. 2. α^ik is not fitted again for
    each pair, as printed: the clicked item moves to its best value for the same biases, then all
    other estimates by one step of Newton's method (`numerics.mnl_curvature.click_effects`). After
    120 epochs per item β is within 5 % of that with all fits (`test_epoch_ucb_unknown.py`). In 400
    to 800 runs of 2,000 rounds on the source's problems both regrets differed by 5 % at most,
    or by less than two standard errors. The derivative alone is not enough: it is 0 where an
    estimate is at its bound, and such items were never shown again. 3. With few clicks the scheme
    has no limit: λ falls to 0 while α grows. The source names an ε in a footnote, without its
    value. Estimates are at least ``least``, and biases other than λ_1 at most ``most``. 4. The
    source declares its estimates to be in [0, 1], but Algorithm 1 does not enforce it, and its
    indices are not limited; nor are they here, unless the ``ceiling`` is set, which limits
    attractions and indices to 1: all items whose bound reaches 1 are then tied and shown evenly. It
    is off because with it the policy hardly learns on problems (a) and (c) of the source's section
    6, see **Observed**: 36 β_j² log(J l²) is so large that most indices stay at 1. 5. Each item
    counts as shown in 1/1000 further epochs, at bias 1, with 1/1000 click. This matters only where
    the clicks determine a product α_j λ_k but neither factor: then it draws α_j to 1. 6. Eq. 16
    takes the estimates of the previous epoch; here they are the latest. 7. An item without a
    complete epoch has an infinite index. 8. Indices and log λ are rounded to 1e-6, to make ties
    exact; tied items are ordered at random, and so are tied positions. 9. Late feedback and several
    clicks: as in `EpochUCB`. Clicks on an item count in the fit once it has a complete epoch. 10.
    Items may be added or removed, and a list may be limited to some of them (candidates): all
    counts are kept, and an epoch whose list has lost an item begins again with another list.

    **Complexity**: a round within an epoch copies the list. A new epoch takes about 10 steps of
    Newton's method, each O(n_items · n_positions²), and the effects of all clicks,
    O(n_items · n_positions³).

    **Guarantee**: regret O(n_positions² √(n_items · T log(n_items · T²))) (grant2020, Proposition
    10), proved for β replaced by its supremum over all click counts, for immediate feedback, and
    for α_j and λ_k of at most 1.

    **Observed**: mean regrets of 40 runs on the source's problems, ± half the length of their 95 %
    intervals, by ``clickrank reproduce grant-2020 --scale paper``: ``figure-1`` is on problem (a),
    ``figure-2`` on (b), and ``figure-3`` and ``ceiling`` are on (c). The bound is too wide for
    these horizons. Why the printed estimator has so much less regret than the composite likelihood
    on (c) is not known. `EpochUCBStar` and `EpochTSUnknown` are the policies to use.

    ======================  ==============  ==============  =============
    estimator, ceiling      (a), T = 50000  (b), T = 50000  (c), T = 8000
    ======================  ==============  ==============  =============
    em, no                  1349 ± 10       1726 ± 38       207 ± 42
    em, yes                 1467 ± 2        1685 ± 23       2198 ± 8
    composite, no           not measured    not measured    1011 ± 15
    composite, yes          not measured    not measured    2200 ± 5
    random lists            1486 ± 1        2781 ± 3        2466 ± 3
    ======================  ==============  ==============  =============

    Parameters
    ----------
    estimator
        "em", as printed, or "composite".
    ceiling
        Whether attractions and indices are limited to 1.
    least
        ε: the smallest estimate of an attraction or a bias, above 0.
    most
        The largest estimate of a bias relative to that of the first position: at least 1.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("epoch-ucb-unknown", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "epoch-ucb-unknown"
    assumes = Assumes(click_models=("mnl",), positions="first")
    by_item = ("clicks", "epochs")

    estimator: str = "em"
    ceiling: bool = False
    least: float = 0.01
    most: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        owner = type(self).__name__
        check_choice(owner, "estimator", self.estimator, ESTIMATORS)
        check_bool(owner, "ceiling", self.ceiling)
        check_float(owner, "least", self.least, 1e-12, 1.0)
        check_float(owner, "most", self.most, 1.0)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        largest_attraction = 1.0 if self.ceiling else math.inf
        objective = Objective(
            composite=int(self.estimator == "composite"),
            item_pull=PULL,
            position_pull=0.0,
            reference=1,
            low_x=math.log(self.least),
            high_x=math.log(largest_attraction),
            low_y=math.log(self.least),
            high_y=math.log(self.most),
        )
        return Params(6.0, 1, largest_attraction, objective)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            **no_epochs(n_positions),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            epochs=np.zeros((n_items, n_positions), dtype=np.int64),
        )

    def why_not(self, model: KnownModel) -> str | None:
        """Return why the assumptions do not hold for a click model; None if they do."""
        return super().why_not(model) or _too_prominent(model, self.most)


def _too_prominent(model: KnownModel, largest_bias: float) -> str | None:
    """Return which position has a larger bias, relative to the first, than estimates may have."""
    bias = [float(x) for x in getattr(model, "position_bias", ())]
    if bias and max(bias) > largest_bias * bias[0] * (1.0 + 1e-12):
        limit = "more" if largest_bias == 1.0 else f"more than {largest_bias:g} times more"
        return f"it assumes that no position is {limit} prominent than the first, not {bias}"
    return None


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the epoch's list, or begin an epoch with the items that have the largest indices."""
    if goes_on(state.epoch, state.begun, state.current, ranking, memo):
        return
    n_items, n_positions = state.clicks.shape
    tables = tables_of(state.clicks, state.epochs, True)  # of items with a complete epoch
    log_attraction, log_bias = np.zeros(n_items), np.zeros(n_positions)
    fit_tables(tables, params.objective, log_attraction, log_bias)
    squares = np.empty(n_items)  # β²
    click_effects(tables, params.objective, log_attraction, log_bias, squares)
    number = state.epoch[0] + 1.0  # l
    level = math.log(n_items * number * (number if params.squared == 1 else 1.0))
    index = np.empty(n_items)
    for item in range(n_items):
        index[item] = math.inf
        if state.epochs[item].sum() > 0:
            width = params.width * math.sqrt(level * squares[item])
            index[item] = rounded(min(math.exp(log_attraction[item]) + width, params.largest_index))
    for position in range(n_positions):
        log_bias[position] = rounded(log_bias[position])
    best, order = np.empty_like(ranking), np.empty_like(ranking)
    top_k(index, rng, best)
    top_k(log_bias, rng, order)
    place(best, order, ranking)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks or, in a list without one, the epoch of each item at its position."""
    ended = ends_epoch(state.epoch, state.begun, state.current, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        if ended:
            state.epochs[item, position] += 1


register(EpochUCBUnknown, State, rank, update)
