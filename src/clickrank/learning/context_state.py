"""What one context has learned, of items that come and go."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._compile.jit import entry_point
from clickrank._core.arrays import (
    Ints,
    clicks_of_many,
    memos_of,
    numbers_of,
    rankings_of,
    statistic_fields,
)
from clickrank._core.validate import check_shape
from clickrank.errors import invalid
from clickrank.learning.caches import arrays_in, particle_of
from clickrank.learning.carry_over import carry
from clickrank.learning.item_abilities import (
    allowed_of,
    drops_items,
    refuse_candidates,
    same_arrays,
    takes_candidates,
)
from clickrank.learning.learner import Learner
from clickrank.learning.policy_propensities import (
    ACCURACY,
    Propensities,
    draws_for,
    generator,
    lists_of,
)
from clickrank.learning.rounds import compiled_play, to_rank
from clickrank.policies import Policy
from clickrank.policies._shared.packing import first_state, packed
from clickrank.policies.capabilities import (
    DropsItems,
    ItemsComeAndGo,
    ReadsEarlierStates,
    Walks,
    memo_limit,
    memo_size,
    memos_for,
    relabelled,
)
from clickrank.policies.contract import ANY_ITEMS, Request, kernels_of, scores_items

#: Names in `ContextState.statistics` that do not belong to the policy: the counts of views and
#: clicks and, for a policy that drops items, the items that it began with.
VIEWS, CLICKS, BEGAN_WITH = "tally.views", "tally.clicks", "began.with"


class ContextState:
    """What a policy has learned in one context, with a tally of views and clicks.

    Items are numbers, 0, 1, 2, … in the order in which they were added. Retired ones keep theirs
    and are not shown. Of policies with `ItemsComeAndGo` the statistics are of all items. Of the
    others they are of those that were not retired at the beginning (``began_without`` those), and
    other items mean to fold the log again. But items that the policy has dropped for good may be
    retired: see `going_on_without`.

    One thread may call `rank` while another one calls `fold`, which leaves this object as it is.

    Examples
    --------
    >>> import clickrank as cr
    >>> learned = ContextState(cr.policy("pb-mhb"), n_items=4, n_positions=2, retired=[1])
    >>> ranking, memo = learned.rank(np.random.default_rng(0))
    >>> learned = learned.fold([ranking], [memo], clicks=[[1, 0]])
    >>> int(learned.clicks.sum())
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
        """Start from nothing."""
        if not isinstance(policy, Policy):
            raise invalid(
                "ContextState", "policy must be a Policy, as from clickrank.policy", policy
            )
        self.policy = policy
        self._owner = type(policy).__name__
        self.n_items, self.n_positions = check_shape(self._owner, n_items, n_positions)
        self.retired = frozenset(int(item) for item in retired)
        if self.retired and not 0 <= min(self.retired) <= max(self.retired) < self.n_items:
            rule = f"retired must hold items between 0 and {self.n_items - 1}"
            raise invalid(self._owner, rule, sorted(self.retired))
        there = np.ones(self.n_items, dtype=bool)
        there[list(self.retired)] = False
        self._active = np.flatnonzero(there)
        if self._active.size < self.n_positions:
            rule = f"at least n_positions ({self.n_positions}) items must not be retired"
            raise invalid(self._owner, rule, self._active.size)
        # The items that the learner is of, and whether they have other numbers there.
        self._of = np.arange(self.n_items)
        if not takes_candidates(policy):
            without = self.retired if began_without is None else set(began_without)
            self._of = np.setdiff1d(self._of, list(without)).astype(np.int64)
        self._learner = self._new_learner()
        self.memo_size = self._learner.memo_size
        cells = (self.n_items, self.n_positions)
        self.views: NDArray[np.int32] = np.zeros(cells, dtype=np.int32)
        self.clicks: NDArray[np.int32] = np.zeros(cells, dtype=np.int32)
        # Made when first needed, by `rank` alone.
        self._enter: Callable[..., None] | None = None
        self._active_learner: Learner | None = None

    @property
    def _renumbered(self) -> bool:
        return self._of.size < self.n_items

    def _new_learner(self) -> Learner:
        policy = relabelled(self.policy, self._of) if self._renumbered else self.policy
        return Learner(policy, self._of.size, self.n_positions)

    @property
    def memos_travel(self) -> bool:
        """Whether a memo from before items were added or retired can still be learned from."""
        none = np.zeros((0, self.memo_size), dtype=np.int64)
        return memos_for(self.policy, none, np.arange(self.n_items), self.n_items) is not None

    @property
    def nbytes(self) -> int:
        """Bytes that its arrays take."""
        learner = self._learner
        arrays = (*learner.state, *arrays_in(learner.cache), self.views, self.clicks)
        return sum(array.nbytes for array in arrays)

    def prepare(self) -> None:
        """Compile, or find in the cache, what `rank` and `fold` need; this can take seconds."""
        self._entered(np.random.default_rng(0))
        nothing = np.zeros((0, self.n_positions), dtype=np.int64)
        self._learner.fold(nothing, nothing[:, :0], nothing)
        if scores_items(self.policy) and self.n_items > self.n_positions:
            some = self._learner.chooser(Request(np.arange(self.n_positions)))
            some.draw(np.random.default_rng(0), 0)

    def rank(
        self, rng: np.random.Generator, candidates: ArrayLike | None = None
    ) -> tuple[Ints, Ints]:
        """Choose a ranking, of the candidates if given, and return it with its memo."""
        if candidates is None and not self.retired:
            return self._rank_all(rng)
        if not takes_candidates(self.policy):
            refuse_candidates(self.policy, candidates)
            return self._rank_renumbered(rng)
        allowed = self._active if candidates is None else self._among(candidates)
        if allowed.size == self.n_items:
            return self._rank_all(rng)
        if self._requests(candidates):
            return self._learner.rank(rng, Request(allowed))
        ranking, memo = self._learner_of(allowed).rank(rng)
        return allowed[ranking], self._called(memo, allowed)

    def _requests(self, candidates: ArrayLike | None) -> bool:
        """Return whether the learner of all items can be asked for a list of some of them.

        Where items are retired, and the fast kernels of a policy only rank all items, a learner of
        the others is faster: its lists are the same.
        """
        kernels = kernels_of(self.policy, self._learner.state)
        return scores_items(self.policy) and (candidates is not None or kernels.honour_candidates)

    def memo_now(self, memo: ArrayLike) -> Ints:
        """Return the memo of a list that may be from before items were added, for these items.

        Only of a policy whose memos can still be learned from, see `memos_travel`.
        """
        found = np.asarray(memo, dtype=np.int64)
        if found.size == self.memo_size:
            return found
        sizes = (memo_size(self.policy, n, self.n_positions) for n in range(1, self.n_items))
        before = next((n for n, size in enumerate(sizes, 1) if size == found.size), None)
        if before is None:
            raise invalid(self._owner, f"memo must hold {self.memo_size} numbers", found.size)
        return self._called(found, np.arange(before))

    def memos_now(self, memos: Sequence[ArrayLike], usable: Sequence[bool]) -> Ints:
        """Return memos for the items of now, one per row; zeros for those that are not usable."""
        found = np.zeros((len(memos), self.memo_size), dtype=np.int64)
        if self.memo_size:
            for row, memo in enumerate(memos):
                if usable[row]:
                    found[row] = self.memo_now(memo)
        return found

    def rank_many(self, rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
        """Do the same ``n`` times, from all items; returns a row for each.

        What takes longest of choosing one list is to enter the machine code.
        """
        if not self.retired:
            return self._rank_many(rng, n)
        found = [self.rank(rng) for _ in range(n)]
        return np.array([ranking for ranking, _ in found]), np.array([memo for _, memo in found])

    def propensities(
        self,
        candidates: ArrayLike | None = None,
        seed: int | np.random.Generator = 0,
        accuracy: float = ACCURACY,
    ) -> Propensities:
        """Return the probability of each item at each position, in the list that `rank` would give.

        Items that cannot be shown have probability 0. See `clickrank.learning.propensities`.
        """
        rng, draws = generator(seed), draws_for(accuracy)
        size = self.n_items, self.n_positions
        if not takes_candidates(self.policy):
            refuse_candidates(self.policy, candidates)
            learner, called = self._choosing()
            return Propensities(lists_of(learner.chooser(), rng, draws), *size, called)
        allowed = self._active if candidates is None else self._among(candidates)
        if allowed.size == self.n_items:
            return Propensities(lists_of(self._learner.chooser(), rng, draws), *size)
        if self._requests(candidates):
            chooser = self._learner.chooser(Request(allowed))
            return Propensities(lists_of(chooser, rng, draws), *size)
        learner = self._learner_of(allowed)
        return Propensities(lists_of(learner.chooser(), rng, draws), *size, allowed)

    def fold(
        self,
        rankings: ArrayLike,
        memos: ArrayLike,
        clicks: ArrayLike,
        own: ArrayLike | None = None,
    ) -> ContextState:
        """Return what is known after these impressions too, one a row, in the order shown.

        ``own`` is False for lists that the policy did not choose, or whose memo is of no use: those
        teach only a policy that needs no memo. All count in the tally. Of a policy whose items were
        numbered anew, lists with a retired item teach nothing.
        """
        other = self._copy(self._learner)
        other.learn(rankings, memos, clicks, own)
        return other

    def learn(
        self,
        rankings: ArrayLike,
        memos: ArrayLike,
        clicks: ArrayLike,
        own: ArrayLike | None = None,
    ) -> None:
        """Do the same to this object, which no other thread may use meanwhile."""
        shown = rankings_of(self._owner, rankings, self.n_items, self.n_positions)
        clicked = clicks_of_many(self._owner, clicks, shown.shape[0], self.n_positions)
        useful = np.ones(shown.shape[0], dtype=bool)
        if own is not None and self.memo_size > 0:
            useful = np.array(own, dtype=bool)
            if useful.shape != shown.shape[:1]:
                rule = f"own must hold {shown.shape[0]} truth values"
                raise invalid(self._owner, rule, useful.shape)
        kept = np.zeros((shown.shape[0], 0), dtype=np.int64)
        if self.memo_size > 0:
            kept = np.asarray(memos)
            if kept.ndim == 2 and kept.shape[0] == shown.shape[0]:
                kept = kept[useful]
        self._teach(shown[useful], kept, clicked[useful])
        self._teach_active(shown[useful], kept, clicked[useful])
        place = np.arange(self.n_positions)
        np.add.at(self.views, (shown, place), 1)
        np.add.at(self.clicks, (shown, place), clicked.astype(np.int32))

    def statistics(self) -> dict[str, NDArray[Any]]:
        """Return copies of what was learned, and of the tally."""
        found = {**self._learner.statistics(), VIEWS: self.views.copy(), CLICKS: self.clicks.copy()}
        return {**found, BEGAN_WITH: self._of.copy()} if drops_items(self.policy) else found

    def everything(self) -> dict[str, NDArray[Any]]:
        """Return the same with the work space, for `restored` to go on as if nothing happened."""
        self._active_learner = None  # which is work space too, but can be made anew
        kept = {**self._learner.state._asdict(), **particle_of(self._learner.cache)}
        return {**{name: array.copy() for name, array in kept.items()}, **self.statistics()}

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> ContextState:
        """Return one that goes on from what `statistics` or `everything` returned once.

        Fields that are no longer statistics, in files of earlier versions, are left out.
        """
        other = self._copy(None)
        arrays = dict(arrays)
        if isinstance(self.policy, ReadsEarlierStates):
            try:
                arrays = self.policy.upgraded(arrays)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                rule = f"the statistics must be those of {self.policy.name}"
                raise invalid(self._owner, rule, sorted(arrays)) from error
        if BEGAN_WITH in arrays and drops_items(self.policy):
            other._of = arrays.pop(BEGAN_WITH).astype(np.int64)
            other._learner = other._new_learner()
        learner = other._learner
        state = learner.state
        if not set(statistic_fields(type(state))) <= set(
            arrays
        ):  # those of the plain kernels, or of an older file
            state = learner.policy.init(learner.n_items, learner.n_positions)
        everything = {**state._asdict(), **particle_of(learner.cache)}
        # With all the work space, or none of it.
        names = everything if set(everything) <= set(arrays) else statistic_fields(type(state))
        wanted = {name: everything[name] for name in names}
        wanted |= {VIEWS: other.views, CLICKS: other.clicks}
        if not set(wanted) <= set(arrays):
            rule = f"the statistics must be {', '.join(wanted)}"
            raise invalid(self._owner, rule, sorted(arrays))
        for name, own in wanted.items():
            given = arrays[name]
            if given.shape != own.shape or given.dtype != own.dtype:
                rule = f"{name} must be {own.dtype} of shape {own.shape}"
                raise invalid(self._owner, rule, (str(given.dtype), given.shape))
            own[...] = given
        if state is learner.state:
            learner.drop_cache()
        else:
            learner.state = packed(learner.policy, state, learner.n_positions)
        return other

    def with_tally(self, arrays: Mapping[str, NDArray[Any]]) -> ContextState:
        """Return the same with the tally of `statistics`, of as many items or fewer."""
        other = self._copy(self._learner)
        for name, own in ((VIEWS, other.views), (CLICKS, other.clicks)):
            own[: arrays[name].shape[0]] = arrays[name]
        return other

    def with_items(
        self, policy: Policy, n_items: int, retired: Collection[int] = ()
    ) -> ContextState | None:
        """Return what is known when items were added or retired, or come back.

        ``policy`` is the spec for all ``n_items``. None if the log must be folded anew: the policy
        cannot add items to its statistics, or something else than its items has changed.
        """
        other = ContextState(policy, n_items, self.n_positions, retired)
        if n_items < self.n_items:
            raise invalid(self._owner, f"n_items must be {self.n_items} or more", n_items)
        if not self._goes_on_as(other):
            return None
        origin = np.full(n_items, -1, dtype=np.int64)
        origin[: self.n_items] = np.arange(self.n_items)
        if takes_candidates(policy) and n_items > self.n_items:
            carry(other._learner, self._learner.state, self.n_items, origin)
            _walk_on(other._learner, self._learner)
        elif takes_candidates(policy):  # bit for bit: nothing was learned
            other._learner.state = self._copy(self._learner)._learner.state
            _walk_on(other._learner, self._learner)
        else:
            other._of, other._learner = self._of, self._copy(self._learner)._learner
        for ours, theirs in ((other.views, self.views), (other.clicks, self.clicks)):
            ours[: self.n_items] = theirs
        return other

    def going_on_without(self, retired: Collection[int]) -> ContextState:
        """Return what learns from the lists that are chosen while these items are retired.

        This itself if it never shows them: it takes all items (see `ItemsComeAndGo`), or it has
        dropped these for good. Else it starts from nothing, but for the tally.
        """
        if not self._shows(retired):
            return self
        began = ContextState(self.policy, self.n_items, self.n_positions, self.retired, retired)
        return began.with_tally({VIEWS: self.views, CLICKS: self.clicks})

    def _shows(self, retired: Collection[int]) -> bool:
        """Say whether lists may hold one of these items, which are or will be retired."""
        if takes_candidates(self.policy):
            return False
        gone = np.intersect1d(self._of, list(retired))
        if gone.size == 0:
            return False
        policy = self._learner.policy
        if not isinstance(policy, DropsItems):
            return True
        dropped = policy.dropped(self._learner.state)
        return not np.isin(gone, self._of[dropped]).all()

    def _choosing(self) -> tuple[Learner, Ints]:
        """Return what lists are chosen by and its items, for a policy without candidates."""
        if self._active_learner is None:
            if not self._shows(self.retired):
                self._active_learner = self._learner
            else:  # its lists are learned from by `going_on_without`
                policy = relabelled(self.policy, self._active)
                self._active_learner = Learner(policy, self._active.size, self.n_positions)
        own = self._active_learner is self._learner
        return self._active_learner, self._of if own else self._active

    def _goes_on_as(self, other: ContextState) -> bool:
        """Say whether another one, of as many items or more, can take over the statistics."""
        policy = other.policy
        if type(policy) is not type(self.policy):
            return False
        if not takes_candidates(policy):
            left = self.retired <= other.retired if drops_items(policy) else False
            same = other.n_items == self.n_items and (left or other.retired == self.retired)
            return same and policy == self.policy
        before = relabelled(policy, np.arange(self.n_items))
        learner = self._learner
        size = (self.n_items, self.n_positions)
        # A prior that holds for all items may have become one entry an item: compare what they are.
        return same_arrays(before.params(*size), learner.params) and same_arrays(
            before.init(*size), learner.policy.init(*size)
        )

    def _entered(self, rng: np.random.Generator) -> Callable[..., None]:
        """Return the machine code that ranks."""
        learner = self._learner
        empty = np.zeros((0, 0), dtype=np.int64)
        fixed = learner.params, learner.state, learner.cache
        rest = to_rank(ANY_ITEMS, learner.held(rng), empty, empty)
        found = entry_point(compiled_play(learner.policy), *fixed, *rest)
        self._enter = found
        return found

    def _rank_all(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        rankings, memos = self._rank_many(rng, 1)
        return rankings[0], memos[0]

    def _rank_many(self, rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
        # The service is about as fast as this: nothing is looked up or checked twice.
        if not isinstance(rng, np.random.Generator):
            raise invalid("ContextState", "rng must be a numpy.random.Generator", rng)
        learner = self._learner
        rankings = np.empty((n, self.n_positions), dtype=np.int64)
        memos = np.zeros((n, self.memo_size), dtype=np.int64)
        enter = self._enter or self._entered(rng)
        held = learner.held(rng)  # which another thread may replace meanwhile: this keeps it alive
        rest = to_rank(ANY_ITEMS, held, rankings, memos)
        enter(learner.params, learner._state, learner._cache, *rest)
        return rankings, memos

    def _rank_renumbered(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        learner, items = self._choosing()
        ranking, memo = self._rank_all(rng) if learner is self._learner else learner.rank(rng)
        return items[ranking], self._called(memo, items)

    def _called(self, memo: Ints, numbers: Ints) -> Ints:
        """Return a memo with the items called by these numbers, if it can be."""
        if self.memo_size == 0:
            return memo
        called = memos_for(self.policy, memo[None], numbers, self.n_items)
        return memo if called is None else called[0]

    def _among(self, candidates: ArrayLike) -> Ints:
        return allowed_of(self._owner, candidates, self.n_items, self.n_positions, self.retired)

    def _learner_of(self, allowed: Ints) -> Learner:
        """Return a learner of some items, the same each time if of all that are not retired."""
        if allowed.size < self._active.size:
            return self._only(allowed)
        if self._active_learner is None:
            self._active_learner = self._only(self._active)
        return self._active_learner

    def _only(self, allowed: Ints) -> Learner:
        """Return a learner of some items, as it is now."""
        policy = relabelled(self.policy, allowed)
        learner = Learner(policy, allowed.size, self.n_positions)
        carry(learner, self._learner.state, self.n_items, allowed)
        return learner

    def _copy(self, former: Learner | None) -> ContextState:
        """Return another one with the same tally, and the statistics and the walk of a learner."""
        other = copy.copy(self)
        other._active_learner = None
        other.views, other.clicks = self.views.copy(), self.clicks.copy()
        other._learner = learner = copy.copy(self._learner)
        made = first_state(learner.policy, learner.n_items, learner.n_positions)
        if former is not None:
            for name in statistic_fields(type(made)):
                getattr(made, name)[...] = getattr(former.state, name)
        learner.state = made
        if former is not None:
            _walk_on(learner, former)
        return other

    def _teach(self, shown: Ints, memos: Ints, clicks: Ints) -> None:
        if not self._renumbered:
            self._learner.fold(shown, memos, clicks)
            return
        # A memo's numbers come from outside too.
        numbers = numbers_of(self._of, self.n_items)
        called = None
        if self.memos_travel:
            limit = memo_limit(self.policy, self.n_items)
            kept = memos_of(self._owner, memos, shown.shape[0], self.memo_size, limit)
            called = memos_for(self.policy, kept, numbers, self._of.size)
        memos = memos if called is None else called
        shown = numbers[shown]
        there = (shown >= 0).all(axis=1) & (memos >= 0).all(axis=1)
        self._learner.fold(shown[there], memos[there], clicks[there])

    def _teach_active(self, shown: Ints, memos: Ints, clicks: Ints) -> None:
        """Let the learner of the items that are not retired learn too, or be made again.

        To make it again takes time for each pair of items, if there are counts of pairs. It learns
        from these lists what it would then have, see `clickrank.checks.catalogues`.
        """
        active, self._active_learner = self._active_learner, None
        if active is None or not isinstance(self.policy, ItemsComeAndGo):
            return
        if not self.policy.by_pair:
            return
        numbers = numbers_of(self._active, self.n_items)
        called = memos_for(self.policy, memos, numbers, self._active.size)
        if called is not None and (numbers[shown] >= 0).all():
            active.fold(numbers[shown], called, clicks)
            self._active_learner = active


def _walk_on(learner: Learner, former: Learner) -> None:
    """Let the particle of a learner go on where that of a former one is, if there is a walk."""
    if isinstance(learner.policy, Walks):
        # A copy: the former one may be ranking in another thread, and its walk just beginning.
        learner.policy.walk_on(learner, former.fork())
