"""Learner: a policy with its state, which ranks and learns from Python."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._compile.jit import tell_apart
from clickrank._core.arrays import (
    Ints,
    clicks_of,
    clicks_of_many,
    memo_of,
    memos_of,
    ranking_of,
    rankings_of,
    statistic_fields,
)
from clickrank._core.validate import check_int, check_shape
from clickrank.errors import invalid
from clickrank.learning.caches import copied, keep_particle, particle_of
from clickrank.learning.chooser import Chooser
from clickrank.learning.policy_propensities import (
    ACCURACY,
    Propensities,
    draws_for,
    generator,
    lists_of,
)
from clickrank.learning.rounds import RankLoop, compiled_play, learning_arguments
from clickrank.learning.saved_state import check_arrays, with_label, without_label
from clickrank.policies._shared.packed_states import first_state, packed
from clickrank.policies.capabilities import ReadsEarlierStates, memo_limit, memo_size
from clickrank.policies.contract import (
    ANY_ITEMS,
    Request,
    kernels_of,
    new_cache,
    plain_kernels,
    scores_items,
)
from clickrank.policies.policy_spec import Policy


class Learner:
    """A policy with its state. Call `rank`, show the ranking, then `update` with the clicks.

    Feedback may come late and out of order: pass the memo that came with the ranking. For many
    simulated rounds use `clickrank.simulate`, which stays in compiled code.

    Examples
    --------
    >>> from clickrank.policies import PBMUCB
    >>> learner = Learner(PBMUCB(examination=[1.0, 0.5]), n_items=4, n_positions=2, seed=0)
    >>> ranking, memo = learner.rank()
    >>> learner.update(ranking, memo, clicks=[1, 0])
    """

    #: Params, state and cache, the first three arguments of the compiled loop.
    fixed: tuple[Any, Any, Any]

    def __init__(
        self, policy: Policy, n_items: int, n_positions: int, seed: int | None = None
    ) -> None:
        """Start without statistics; without a seed, each learner draws differently."""
        if not isinstance(policy, Policy):
            raise invalid("Learner", "policy must be a Policy, as from clickrank.policy", policy)
        self.policy = policy
        self.seed = None if seed is None else check_int("Learner", "seed", seed, 0)
        self.n_items, self.n_positions = check_shape(type(policy).__name__, n_items, n_positions)
        self.params = policy.params(self.n_items, self.n_positions)
        tell_apart(type(self.params))
        self._use(first_state(policy, self.n_items, self.n_positions))
        self.memo_size = memo_size(policy, self.n_items, self.n_positions)

    @property
    def state(self) -> Any:
        """The statistics. A state that replaces them must have the same shapes."""
        return self.fixed[1]

    @state.setter
    def state(self, state: Any) -> None:
        expected = self.state
        if type(state) is not type(expected):
            rule = f"state must be a {type(expected).__qualname__} of {type(expected).__module__}"
            raise invalid(type(self.policy).__name__, rule, type(state))
        fields = expected._asdict(), state._asdict()
        check_arrays(type(self.policy).__name__, *fields, prefix="the state's ")
        self._use(state)

    @property
    def cache(self) -> Any:
        """The values that the kernels need not compute again; None if they keep none."""
        return self.fixed[2]

    def _use(self, state: Any) -> None:
        kernels = kernels_of(self.policy, state)
        cache = new_cache(kernels, self.params, state, self.n_items, self.n_positions)
        self.fixed = self.params, state, cache
        self.__dict__.pop("_plain_cache", None)

    def drop_cache(self) -> None:
        """Compute the cache from the statistics again, but keep its particle."""
        former = self.cache
        self._use(self.state)
        keep_particle(self.cache, former)

    # Made when first needed: the simulator makes many learners and uses none of these.

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        """The generator that `rank` draws from."""
        return np.random.default_rng(self.seed)

    @functools.cached_property
    def loop(self) -> RankLoop:
        """The compiled loop, to rank from `fixed`."""
        return RankLoop(self.policy, self.n_positions, self.memo_size)

    @functools.cached_property
    def _plain_loop(self) -> RankLoop:
        return RankLoop(self.policy, self.n_positions, self.memo_size)

    @functools.cached_property
    def _play(self) -> Callable[..., None]:
        return compiled_play(self.policy)

    @functools.cached_property
    def _plain_cache(self) -> Any:
        kernels = plain_kernels(self.state)
        return new_cache(kernels, self.params, self.state, self.n_items, self.n_positions)

    def cache_for(self, request: Request) -> Any:
        """Return the cache of the kernels that can honour a request.

        Some fast kernels can only rank all items. The plain kernels, which sort by a score, can
        leave items out, and use the same statistics.
        """
        kernels = kernels_of(self.policy, self.state)
        honours = request.candidates.size == 0 or kernels.honour_candidates
        return self.cache if honours else self._plain_cache

    def rank(
        self, rng: np.random.Generator | None = None, request: Request = ANY_ITEMS
    ) -> tuple[Ints, Ints]:
        """Choose a ranking and return it with the memo that `update` needs.

        Ties are broken, and random policies draw, with ``rng`` or the learner's own generator. Only
        policies that score items can honour a ``request`` with candidates.
        """
        if rng is None:
            rng = self.rng
        elif not isinstance(rng, np.random.Generator):
            raise invalid("Learner", "rng must be a numpy.random.Generator", rng)
        if request is not ANY_ITEMS:
            request = self._checked(request)
        cache = self.cache_for(request)
        loop = self.loop if cache is self.cache else self._plain_loop
        rankings, memos = loop.rank((self.params, self.state, cache), rng, 1, request)
        return rankings[0], memos[0]

    def _checked(self, request: Request) -> Request:
        owner, some = type(self.policy).__name__, request.candidates
        if some.size == 0:
            return ANY_ITEMS
        if not scores_items(self.policy):
            rule = "only policies that score items take candidates in a request"
            raise invalid(owner, rule, some.tolist())
        known = (some[0] >= 0) & (some[-1] < self.n_items) & (np.diff(some) > 0).all()
        if some.size < self.n_positions or not known:
            rule = f"candidates must be {self.n_positions} or more items in increasing order"
            raise invalid(owner, f"{rule}, below {self.n_items}", some.tolist())
        return Request(np.ascontiguousarray(some, dtype=np.int64))

    def propensities(
        self, seed: int | np.random.Generator = 0, accuracy: float = ACCURACY
    ) -> Propensities:
        """Return the probability of each item at each position in the next ranking.

        See `clickrank.learning.propensities`. Neither the state nor the generator changes.
        """
        lists = lists_of(self.chooser(), generator(seed), draws_for(accuracy))
        return Propensities(lists, self.n_items, self.n_positions)

    def fork(self) -> Learner:
        """Return a learner with the same statistics whose `rank` does not change this one."""
        other = copy.copy(self)
        other.fixed = self.params, self.state, copied(self.cache)[0]
        other.__dict__.pop("_plain_cache", None)
        return other

    def chooser(self, request: Request = ANY_ITEMS) -> Chooser:
        """Return a `Chooser`, which draws lists from the present state without changing it."""
        size, cache = (self.n_items, self.n_positions), self.cache_for(request)
        return Chooser(self.policy, *size, self.params, self.state, cache, request)

    def update(self, ranking: ArrayLike, memo: ArrayLike, clicks: ArrayLike) -> None:
        """Learn from the clicks on a ranking. If an argument is invalid, nothing changes."""
        owner = type(self.policy).__name__
        shown = ranking_of(owner, ranking, self.n_items, self.n_positions)
        vector = clicks_of(owner, clicks, self.n_positions)
        checked = memo_of(owner, memo, self.memo_size, memo_limit(self.policy, self.n_items))
        self._learn(shown[None], checked[None], vector[None])

    def update_many(self, rankings: ArrayLike, memos: ArrayLike, clicks: ArrayLike) -> None:
        """Learn from many rankings, one per row, as if `update` were called for each in turn.

        The loop over the rows is compiled. If any row is invalid, nothing changes.
        """
        owner = type(self.policy).__name__
        shown = rankings_of(owner, rankings, self.n_items, self.n_positions)
        matrix = clicks_of_many(owner, clicks, shown.shape[0], self.n_positions)
        limit = memo_limit(self.policy, self.n_items)
        checked = memos_of(owner, memos, shown.shape[0], self.memo_size, limit)
        self._learn(shown, checked, matrix)

    def _learn(self, rankings: Ints, memos: Ints, clicks: Ints) -> None:
        self._play(*self.fixed, *learning_arguments(rankings, memos, clicks))

    def statistics(self) -> dict[str, NDArray[Any]]:
        """Return copies of the statistics, by field name."""
        return {
            name: getattr(self.state, name).copy() for name in statistic_fields(type(self.state))
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of state and particle by field name, ready for `numpy.savez`.

        The field `label` identifies the policy, and holds the generator and a checksum.
        """
        fields = {**self.state._asdict(), **particle_of(self.cache)}
        copies = {name: array.copy() for name, array in fields.items()}
        return with_label(copies, self._describe(), self.rng)

    def _describe(self) -> str:
        return f"{self.policy!r}, {self.n_items} items, {self.n_positions} positions"

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` returned, with its state and generator.

        The policy and its parameters must be the same; the arrays may come from an earlier version.
        If they are not valid, nothing changes.
        """
        owner = type(self.policy).__name__
        fields, rng = without_label(owner, arrays, self._describe())
        other = Learner(self.policy, self.n_items, self.n_positions)
        other.start_from(fields, {})
        kinds = [type(one.bit_generator).__name__ for one in (rng, self.rng)]
        if kinds[0] != kinds[1]:
            raise invalid(
                "Learner", f"rng must be a {kinds[0]}, as that of the saved state", kinds[1]
            )
        self.rng.bit_generator.state = rng.bit_generator.state
        self.fixed = other.fixed
        self.__dict__.pop("_plain_cache", None)

    def start_from(
        self, arrays: Mapping[str, NDArray[Any]], others: Mapping[str, NDArray[Any]]
    ) -> None:
        """Take the state and particle, or the statistics alone, into a learner without any.

        The arrays may come from an earlier version. Those that are no longer needed are ignored.
        ``others`` are arrays of the caller, which are filled by name too.
        """
        owner = type(self.policy).__name__
        if isinstance(self.policy, ReadsEarlierStates):
            try:
                arrays = self.policy.upgraded(arrays)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                rule = f"the statistics must be those of {self.policy.name}"
                raise invalid(owner, rule, sorted(arrays)) from error
        state = self.state
        if not set(statistic_fields(type(state))) <= set(arrays):
            # The file has the plain state, or was written by an earlier version.
            state = self.policy.init(self.n_items, self.n_positions)
        fields = {**state._asdict(), **particle_of(self.cache)}
        names = fields if set(fields) <= set(arrays) else statistic_fields(type(state))
        expected = {**{name: fields[name] for name in names}, **others}
        check_arrays(owner, expected, arrays)
        for name, array in expected.items():
            array[...] = arrays[name]
        if state is self.state:
            self.drop_cache()
        else:
            self.state = packed(self.policy, state, self.n_positions)
