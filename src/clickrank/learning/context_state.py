"""ContextState: what a policy has learned in one context, with items that come and go."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._core.arrays import Ints, clicks_of_many, rankings_of, statistic_fields
from clickrank._core.validate import check_shape
from clickrank.errors import invalid
from clickrank.learning.caches import arrays_in, particle_of
from clickrank.learning.candidates import (
    can_go_on,
    check_candidates,
    drops_items,
    refuse_candidates,
    takes_candidates,
)
from clickrank.learning.carry_over import can_carry, carry, continue_walk
from clickrank.learning.learner import Learner
from clickrank.learning.policy_propensities import ACCURACY, Propensities, draws_for, generator
from clickrank.learning.subset_learner import SubsetLearner
from clickrank.policies import Policy
from clickrank.policies._shared.packed_states import first_state
from clickrank.policies.capabilities import (
    DropsItems,
    ItemsComeAndGo,
)
from clickrank.policies.contract import ANY_ITEMS, Request, kernels_of, scores_items

#: Names in `ContextState.statistics` that do not belong to the policy: the counts of views and
#: clicks and, for a policy that drops items, the items that it began with.
VIEWS, CLICKS, BEGAN_WITH = "tally.views", "tally.clicks", "began.with"


class ContextState:
    """The state of a policy in one context, and counts of views and clicks.

    Items are numbered 0, 1, 2, … in the order in which they were added. Retired items keep their
    numbers and are not shown. A policy with `ItemsComeAndGo` has statistics of all items. Any other
    policy has statistics of the items that were not retired when it began (``began_without`` lists
    those that were), and must fold the log again when the items change; an exception is the
    retirement of items that it has dropped for good, see `going_on_without`.

    One thread may call `rank` while another calls `fold`, which returns a new object.

    Examples
    --------
    >>> import clickrank as cr
    >>> state = ContextState(cr.policy("pb-mhb"), n_items=4, n_positions=2, retired=[1])
    >>> ranking, memo = state.rank(np.random.default_rng(0))
    >>> state = state.fold([ranking], [memo], clicks=[[1, 0]])
    >>> int(state.clicks.sum())
    1
    """

    def __init__(
        self,
        policy: Policy,
        n_items: int,
        n_positions: int,
        retired: Collection[int] = (),
        began_without: Collection[int] | None = None,
    ) -> None:
        """Start without statistics."""
        if not isinstance(policy, Policy):
            raise invalid("ContextState", "policy must come from clickrank.policy", policy)
        self.policy = policy
        self._owner = type(policy).__name__
        self.n_items, self.n_positions = check_shape(self._owner, n_items, n_positions)
        self.retired = frozenset(int(item) for item in retired)
        if self.retired and not 0 <= min(self.retired) <= max(self.retired) < self.n_items:
            rule = f"retired must hold items between 0 and {self.n_items - 1}"
            raise invalid(self._owner, rule, sorted(self.retired))
        self.active = np.ones(self.n_items, dtype=np.bool_)  # whether each item may be shown
        self.active[list(self.retired)] = False
        self._active = np.flatnonzero(self.active)
        if self._active.size < self.n_positions:
            rule = f"at least n_positions ({self.n_positions}) items must remain active"
            raise invalid(self._owner, rule, self._active.size)
        items = np.arange(self.n_items)
        if not takes_candidates(policy):
            without = self.retired if began_without is None else set(began_without)
            items = np.setdiff1d(items, list(without)).astype(np.int64)
        self._main = self._subset(items)  # whose statistics these are
        self._for_active: SubsetLearner | None = None  # made by `rank`, if it needs another one
        self.memo_size = self._main.learner.memo_size
        cells = (self.n_items, self.n_positions)
        self.views: NDArray[np.int32] = np.zeros(cells, dtype=np.int32)
        self.clicks: NDArray[np.int32] = np.zeros(cells, dtype=np.int32)

    def _subset(self, items: Ints) -> SubsetLearner:
        return SubsetLearner(self.policy, items, self.n_items, self.n_positions)

    @property
    def learner(self) -> Learner:
        """The learner with the statistics; it may number its items differently."""
        return self._main.learner

    @property
    def memos_travel(self) -> bool:
        """Whether a memo from before items were added or retired can still be learned from."""
        return self._main.memos_travel

    @property
    def nbytes(self) -> int:
        """The number of bytes of all arrays."""
        arrays = (*self.learner.state, *arrays_in(self.learner.cache), self.views, self.clicks)
        return sum(array.nbytes for array in arrays)

    def prepare(self) -> None:
        """Compile the kernels, or load them from the disk cache; this can take seconds."""
        self._rank_all(np.random.default_rng(0), 0)
        nothing = np.zeros((0, self.n_positions), dtype=np.int64)
        self.learner.update_many(nothing, nothing[:, :0], nothing)
        if scores_items(self.policy) and self.n_items > self.n_positions:
            some = self.learner.chooser(Request(np.arange(self.n_positions)))
            some.draw(np.random.default_rng(0), 0)

    # Choosing lists

    def rank(
        self, rng: np.random.Generator, candidates: ArrayLike | None = None
    ) -> tuple[Ints, Ints]:
        """Choose a ranking, from the candidates if given, and return it with its memo."""
        if candidates is None and not self.retired:
            rankings, memos = self._rank_all(rng, 1)
            return rankings[0], memos[0]
        subset, request = self._chosen_from(candidates)
        return subset.rank(rng, request)

    def rank_many(self, rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
        """Choose ``n`` rankings from all items, and return them with their memos, one per row.

        This is faster than ``n`` calls of `rank`, most of whose time goes into entering compiled
        code.
        """
        if not self.retired:
            return self._rank_all(rng, n)
        found = [self.rank(rng) for _ in range(n)]
        return np.array([ranking for ranking, _ in found]), np.array([memo for _, memo in found])

    def _rank_all(self, rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
        # The service spends most of its time here, so nothing is looked up or checked twice.
        if not isinstance(rng, np.random.Generator):
            raise invalid("ContextState", "rng must be a numpy.random.Generator", rng)
        learner = self._main.learner
        return learner.loop.rank(learner.fixed, rng, n)

    def propensities(
        self,
        candidates: ArrayLike | None = None,
        seed: int | np.random.Generator = 0,
        accuracy: float = ACCURACY,
    ) -> Propensities:
        """Return the probability of each item at each position in the next ranking.

        Items that cannot be shown have probability 0. See `clickrank.learning.propensities`.
        """
        rng, draws = generator(seed), draws_for(accuracy)
        subset, request = self._chosen_from(candidates)
        return subset.propensities(rng, draws, request)

    def _chosen_from(self, candidates: ArrayLike | None) -> tuple[SubsetLearner, Request]:
        """Return the learner that chooses the next list, and the request to make of it."""
        if not takes_candidates(self.policy):
            refuse_candidates(self.policy, candidates)
            return self._without_retired(), ANY_ITEMS
        allowed = self._active
        if candidates is not None:
            size = self.n_items, self.n_positions
            allowed = check_candidates(self._owner, candidates, *size, self.retired)
        if allowed.size == self.n_items:
            return self._main, ANY_ITEMS
        # If items are retired, and the fast kernels of the policy only rank all items, a learner of
        # the active items is faster than the plain kernels, and chooses the same lists.
        honoured = kernels_of(self.policy, self.learner.state).honour_candidates
        if scores_items(self.policy) and (candidates is not None or honoured):
            return self._main, Request(allowed)
        if allowed.size < self._active.size:
            return self._subset(allowed).carry(self.learner.state), ANY_ITEMS
        if self._for_active is None:
            self._for_active = self._subset(self._active).carry(self.learner.state)
        return self._for_active, ANY_ITEMS

    def _without_retired(self) -> SubsetLearner:
        """Return the learner that chooses lists for a policy that takes no candidates."""
        if self._for_active is None:
            # A new learner has no statistics, and learns in the state that `going_on_without`
            # returns.
            shows = self._shows(self.retired)
            self._for_active = self._subset(self._active) if shows else self._main
        return self._for_active

    # Learning

    def memos_now(self, memos: Sequence[ArrayLike], usable: Sequence[bool]) -> Ints:
        """Return memos for the present items, one per row, with zeros for those not usable.

        Memos from before items were added are usable only if `memos_travel`.
        """
        found = np.zeros((len(memos), self.memo_size), dtype=np.int64)
        for row, memo in enumerate(memos if self.memo_size else ()):
            if usable[row]:
                found[row] = self._main.memo_now(np.asarray(memo, dtype=np.int64))
        return found

    def fold(
        self,
        rankings: ArrayLike,
        memos: ArrayLike,
        clicks: ArrayLike,
        own: ArrayLike | None = None,
    ) -> ContextState:
        """Return the state after these impressions, one per row, in the order shown.

        ``own`` is False for rankings that the policy did not choose, or whose memo is not usable. A
        policy that needs memos does not learn from these. All impressions are counted in ``views``
        and ``clicks``. A policy that began without some items does not learn from rankings with
        one of those.
        """
        other = self._copy(self.learner)
        other.update_many(rankings, memos, clicks, own)
        return other

    def update_many(
        self,
        rankings: ArrayLike,
        memos: ArrayLike,
        clicks: ArrayLike,
        own: ArrayLike | None = None,
    ) -> None:
        """Fold impressions into this object, which no other thread may use meanwhile."""
        shown = rankings_of(self._owner, rankings, self.n_items, self.n_positions)
        clicked = clicks_of_many(self._owner, clicks, shown.shape[0], self.n_positions)
        useful = np.ones(shown.shape[0], dtype=bool)
        if own is not None and self.memo_size > 0:
            useful = np.array(own, dtype=bool)
            if useful.shape != shown.shape[:1]:
                rule = f"own must hold {shown.shape[0]} truth values"
                raise invalid(self._owner, rule, useful.shape)
        given = np.zeros((shown.shape[0], 0), dtype=np.int64)
        if self.memo_size > 0:
            given = np.asarray(memos)
            if given.ndim == 2 and given.shape[0] == shown.shape[0]:
                given = given[useful]
        self._main.update_many(shown[useful], given, clicked[useful])
        self._update_active(shown[useful], given, clicked[useful])
        place = np.arange(self.n_positions)
        np.add.at(self.views, (shown, place), 1)
        np.add.at(self.clicks, (shown, place), clicked.astype(np.int32))

    def _update_active(self, shown: Ints, memos: Ints, clicks: Ints) -> None:
        """Let the learner of the active items learn too, if that is faster than a new one.

        To carry counts of pairs of items over to a new learner takes time for each pair. The
        result is the same, see `clickrank.checks.catalogue_checks`.
        """
        active, self._for_active = self._for_active, None
        if active is None or not isinstance(self.policy, ItemsComeAndGo):
            return
        if self.policy.by_pair and active.update_exactly(shown, memos, clicks):
            self._for_active = active

    # Saving

    def statistics(self) -> dict[str, NDArray[Any]]:
        """Return copies of the policy's statistics and of the counts of views and clicks."""
        counts = {VIEWS: self.views.copy(), CLICKS: self.clicks.copy()}
        found = {**self.learner.statistics(), **counts}
        return {**found, BEGAN_WITH: self._main.items.copy()} if drops_items(self.policy) else found

    def everything(self) -> dict[str, NDArray[Any]]:
        """Return `statistics` with all other arrays, so that `restored` goes on exactly."""
        self._for_active = None  # it can be made again
        fields = {**self.learner.state._asdict(), **particle_of(self.learner.cache)}
        return {**{name: array.copy() for name, array in fields.items()}, **self.statistics()}

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> ContextState:
        """Return a state that goes on from what `statistics` or `everything` returned.

        Fields of earlier versions that are no longer statistics are ignored.
        """
        other = self._copy(None)
        if BEGAN_WITH in arrays and drops_items(self.policy):
            other._main = self._subset(arrays[BEGAN_WITH].astype(np.int64))
        other.learner.start_from(arrays, {VIEWS: other.views, CLICKS: other.clicks})
        return other

    def with_tally(self, arrays: Mapping[str, NDArray[Any]]) -> ContextState:
        """Return this state with the counts in `statistics` of as many items or fewer."""
        other = self._copy(self.learner)
        for name, counts in ((VIEWS, other.views), (CLICKS, other.clicks)):
            counts[: arrays[name].shape[0]] = arrays[name]
        return other

    def _copy(self, former: Learner | None) -> ContextState:
        """Return a copy with the statistics and the particle of a learner, or with none."""
        other = copy.copy(self)
        other._for_active = None
        other.views, other.clicks = self.views.copy(), self.clicks.copy()
        learner = copy.copy(self.learner)
        other._main = self._main.with_learner(learner)
        made = first_state(learner.policy, learner.n_items, learner.n_positions)
        if former is not None:
            for name in statistic_fields(type(made)):
                getattr(made, name)[...] = getattr(former.state, name)
        learner.state = made
        if former is not None:
            continue_walk(learner, former)
        return other

    # Items that come and go

    def with_items(
        self, policy: Policy, n_items: int, retired: Collection[int] = ()
    ) -> ContextState | None:
        """Return the state after items were added, retired or brought back.

        ``policy`` is the policy for all ``n_items``. None means that the log must be folded again:
        the policy cannot add items to its statistics, or not only the items have changed.
        """
        other = ContextState(policy, n_items, self.n_positions, retired)
        if n_items < self.n_items:
            raise invalid(self._owner, f"n_items must be {self.n_items} or more", n_items)
        if takes_candidates(policy):
            if not can_carry(self.learner, policy):
                return None
            if n_items > self.n_items:
                origin = np.full(n_items, -1, dtype=np.int64)
                origin[: self.n_items] = np.arange(self.n_items)
                carry(other.learner, self.learner.state, self.n_items, origin)
            else:  # bit for bit
                other.learner.state = self._copy(self.learner).learner.state
            continue_walk(other.learner, self.learner)
        else:
            same_items = n_items == self.n_items
            goes_on = can_go_on(policy, same_items, self.retired, other.retired)
            if not goes_on or policy != self.policy:
                return None
            other._main = self._copy(self.learner)._main
        for ours, theirs in ((other.views, self.views), (other.clicks, self.clicks)):
            ours[: self.n_items] = theirs
        return other

    def going_on_without(self, retired: Collection[int]) -> ContextState:
        """Return the state that learns from lists chosen while these items are retired.

        This is the object itself if it never shows them, because the policy has `ItemsComeAndGo` or
        has dropped these items for good. Otherwise it is a state without statistics that keeps the
        counts of views and clicks.
        """
        if not self._shows(retired):
            return self
        began = ContextState(self.policy, self.n_items, self.n_positions, self.retired, retired)
        return began.with_tally({VIEWS: self.views, CLICKS: self.clicks})

    def _shows(self, retired: Collection[int]) -> bool:
        """Return whether a list may hold one of these items, which are or will be retired."""
        if takes_candidates(self.policy):
            return False
        items = self._main.items
        gone = np.intersect1d(items, list(retired))
        if gone.size == 0:
            return False
        policy = self.learner.policy
        if not isinstance(policy, DropsItems):
            return True
        return not np.isin(gone, items[policy.dropped(self.learner.state)]).all()
