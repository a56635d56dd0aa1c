"""A policy at work: spec, constants and state together, for use from Python one round at a time."""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._compile.callbacks import Held
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
from clickrank.errors import InvalidValue, invalid
from clickrank.learning.caches import copied, keep_particle, particle_of
from clickrank.learning.chooser import Chooser
from clickrank.learning.policy_propensities import (
    ACCURACY,
    Propensities,
    draws_for,
    generator,
    lists_of,
)
from clickrank.learning.rounds import compiled_play, to_learn, to_rank
from clickrank.policies._shared.packing import first_state
from clickrank.policies.base import Policy
from clickrank.policies.capabilities import memo_limit, memo_size
from clickrank.policies.contract import (
    ANY_ITEMS,
    Request,
    kernels_of,
    new_cache,
    plain_kernels,
    scores_items,
)


class Learner:
    """A policy with its state. `rank` → show → `update` with the clicks.

    Feedback may come late and out of order: hand back the memo that came with the ranking. For many
    simulated rounds use `clickrank.simulate`, which never leaves compiled code.

    Examples
    --------
    >>> from clickrank.policies import PBMUCB
    >>> learner = Learner(PBMUCB(examination=[1.0, 0.5]), n_items=4, n_positions=2, seed=0)
    >>> ranking, memo = learner.rank()
    >>> learner.update(ranking, memo, clicks=[1, 0])
    """

    def __init__(
        self, policy: Policy, n_items: int, n_positions: int, seed: int | None = None
    ) -> None:
        """Start learning from nothing; without a seed, no two learners draw the same."""
        if not isinstance(policy, Policy):
            raise invalid("Learner", "policy must be a Policy, as from clickrank.policy", policy)
        self.policy = policy
        self.seed = None if seed is None else check_int("Learner", "seed", seed, 0)
        self.n_items, self.n_positions = check_shape(type(policy).__name__, n_items, n_positions)
        self.params = policy.params(self.n_items, self.n_positions)
        tell_apart(type(self.params))
        self._state = first_state(policy, self.n_items, self.n_positions)
        self._cache = self._new_cache()
        self._held: Held | None = None
        self.memo_size = memo_size(policy, self.n_items, self.n_positions)

    @property
    def state(self) -> Any:
        """What it has learned; another one must be of the same shape."""
        return self._state

    @state.setter
    def state(self, state: Any) -> None:
        own = self._state
        if type(state) is not type(own):
            rule = f"state must be a {type(own).__qualname__} of {type(own).__module__}"
            raise invalid(type(self.policy).__name__, rule, type(state))
        self._check_fields(state._asdict(), "the state's")
        self._state = state
        self._cache = self._new_cache()
        self.__dict__.pop("_plain_cache", None)

    @property
    def cache(self) -> Any:
        """What its kernels need not compute again; None if they keep nothing."""
        return self._cache

    def _new_cache(self) -> Any:
        kernels = kernels_of(self.policy, self._state)
        return new_cache(kernels, self.params, self._state, self.n_items, self.n_positions)

    def drop_cache(self) -> None:
        """Compute the cache from the statistics again; a particle stays where it is."""
        former, self._cache = self._cache, self._new_cache()
        keep_particle(self._cache, former)

    # Made when first asked for: the simulator needs none of the three, and makes many learners.

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        """The generator that `rank` draws from."""
        return np.random.default_rng(self.seed)

    @functools.cached_property
    def _play(self) -> Callable[..., None]:
        return compiled_play(self.policy)

    @functools.cached_property
    def _plain_cache(self) -> Any:
        kernels = plain_kernels(self._state)
        return new_cache(kernels, self.params, self._state, self.n_items, self.n_positions)

    def cache_for(self, request: Request) -> Any:
        """Return the cache whose kernels can honour a request.

        Some fast kernels rank all items; the plain ones, which sort by a score, can leave items
        out, and read the same statistics.
        """
        kernels = kernels_of(self.policy, self._state)
        honours = request.candidates.size == 0 or kernels.honour_candidates
        return self._cache if honours else self._plain_cache

    def rank(
        self, rng: np.random.Generator | None = None, request: Request = ANY_ITEMS
    ) -> tuple[Ints, Ints]:
        """Choose a ranking; returns it with the memo that `update` will need.

        Ties and randomised policies draw from the learner's own generator, or from ``rng``. Only
        policies that score items can honour a ``request`` with candidates.
        """
        ranking = np.zeros(self.n_positions, dtype=np.int64)
        memo = np.zeros(self.memo_size, dtype=np.int64)
        if rng is None:
            rng = self.rng
        elif not isinstance(rng, np.random.Generator):
            raise invalid("Learner", "rng must be a numpy.random.Generator", rng)
        if request is not ANY_ITEMS:
            self._check_request(request)
        cache = self.cache_for(request)
        held = self.held(rng)  # which another thread may replace meanwhile: this keeps it alive
        one = to_rank(request, held, ranking[None], memo[None])
        self._play(self.params, self._state, cache, *one)
        return ranking, memo

    def held(self, rng: np.random.Generator) -> Held:
        """Return where compiled code finds a generator; the last one is remembered."""
        found = self._held
        if found is None or found.value is not rng:
            found = self._held = Held(rng)
        return found

    def _check_request(self, request: Request) -> None:
        owner, some = type(self.policy).__name__, request.candidates
        if some.size == 0:
            return
        if not scores_items(self.policy):
            rule = "only policies that score items take candidates in a request"
            raise invalid(owner, rule, some.tolist())
        known = (some[0] >= 0) & (some[-1] < self.n_items) & (np.diff(some) > 0).all()
        if some.size < self.n_positions or not known:
            rule = f"candidates must be {self.n_positions} or more items in increasing order"
            raise invalid(owner, f"{rule}, below {self.n_items}", some.tolist())

    def propensities(
        self, seed: int | np.random.Generator = 0, accuracy: float = ACCURACY
    ) -> Propensities:
        """Return the probability of each item at each position in the next list.

        See `clickrank.learning.propensities`. Neither the state nor the generator changes.
        """
        lists = lists_of(self.chooser(), generator(seed), draws_for(accuracy))
        return Propensities(lists, self.n_items, self.n_positions)

    def fork(self) -> Learner:
        """Return a learner of the same statistics whose `rank` leaves this one as it is."""
        other = copy.copy(self)
        other._cache, _ = copied(self._cache)
        other.__dict__.pop("_plain_cache", None)
        return other

    def chooser(self, request: Request = ANY_ITEMS) -> Chooser:
        """Return what draws lists from the state as it is now, and leaves it so."""
        size, cache = (self.n_items, self.n_positions), self.cache_for(request)
        return Chooser(self.policy, *size, self.params, self._state, cache, request)

    def update(self, ranking: ArrayLike, memo: ArrayLike, clicks: ArrayLike) -> None:
        """Learn from the clicks on a ranking; nothing changes if an argument is not as it was."""
        owner = type(self.policy).__name__
        shown = ranking_of(owner, ranking, self.n_items, self.n_positions)
        vector = clicks_of(owner, clicks, self.n_positions)
        kept = memo_of(owner, memo, self.memo_size, memo_limit(self.policy, self.n_items))
        self._learn(shown[None], kept[None], vector[None])

    def fold(self, rankings: ArrayLike, memos: ArrayLike, clicks: ArrayLike) -> None:
        """Learn from many rankings, one a row, as from one after the other with `update`.

        The rounds are not left to Python, so that each costs little; nothing changes if any is not
        as it must be.
        """
        owner = type(self.policy).__name__
        shown = rankings_of(owner, rankings, self.n_items, self.n_positions)
        matrix = clicks_of_many(owner, clicks, shown.shape[0], self.n_positions)
        limit = memo_limit(self.policy, self.n_items)
        kept = memos_of(owner, memos, shown.shape[0], self.memo_size, limit)
        self._learn(shown, kept, matrix)

    def _learn(self, rankings: Ints, memos: Ints, clicks: Ints) -> None:
        fixed = self.params, self._state, self._cache
        self._play(*fixed, *to_learn(rankings, memos, clicks))

    def statistics(self) -> dict[str, NDArray[Any]]:
        """Return copies of what was learned."""
        return {
            name: getattr(self.state, name).copy() for name in statistic_fields(type(self.state))
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of state and particle by field name, ready for `numpy.savez`.

        A field `label` says which policy they are of, and holds the generator and a checksum.
        """
        kept = {**self.state._asdict(), **particle_of(self._cache)}
        fields = {name: array.copy() for name, array in kept.items()}
        label = {
            "learner": self._describe(),
            "checksum": _checksum(fields),
            "generator": plain_state(self.rng.bit_generator.state),
        }
        return {**fields, "label": np.array(json.dumps(label))}

    def _describe(self) -> str:
        return f"{self.policy!r}, {self.n_items} items, {self.n_positions} positions"

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `arrays` was called: state and generator, whole or not at all.

        The policy and its parameters must be the same, and the arrays as they were.
        """
        owner = type(self.policy).__name__
        if "label" not in arrays:
            raise invalid(owner, "the saved state must be what `arrays` returned", type(arrays))
        label = json.loads(str(arrays["label"]))
        arrays = {name: arrays[name] for name in arrays if name != "label"}
        if label["learner"] != self._describe():
            mine, saved = _around_difference(self._describe(), label["learner"])
            raise InvalidValue(f"{owner}: the saved state must be of {mine}, got {saved}.")
        if label["checksum"] != _checksum(arrays):
            raise invalid(owner, "the saved state must be unchanged", "another checksum")
        self._check_fields(arrays, "saved")
        self.rng.bit_generator.state = label["generator"]
        for name, own in self.state._asdict().items():
            own[...] = arrays[name]
        self._cache = self._new_cache()
        for name, own in particle_of(self._cache).items():
            own[...] = arrays[name]

    def _check_fields(self, arrays: Mapping[str, NDArray[Any]], whose: str) -> None:
        owner = type(self.policy).__name__
        particle = particle_of(self._cache) if whose == "saved" else {}
        for name, own in {**self.state._asdict(), **particle}.items():
            if name not in arrays:
                raise invalid(owner, f"the saved state must have a field {name!r}", sorted(arrays))
            given = arrays[name]
            if given.shape != own.shape or given.dtype != own.dtype:
                rule = f"{whose} {name} must be {own.dtype} of shape {own.shape}"
                raise invalid(owner, rule, (str(given.dtype), given.shape))


def _around_difference(one: str, two: str, context: int = 60) -> tuple[str, str]:
    """Return what two texts have around the first place where they differ: priors are long."""
    pairs = itertools.zip_longest(one, two)
    same = next(place for place, (a, b) in enumerate(pairs) if a != b)
    begin, end = max(same - context, 0), same + context
    parts = []
    for text in (one, two):
        part = text[begin:end]
        parts.append(("…" if begin else "") + part + ("…" if end < len(text) else ""))
    return parts[0], parts[1]


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def plain_state(state: Any) -> Any:
    """Return a generator's state with lists for its arrays, as JSON has them."""
    if isinstance(state, dict):
        return {key: plain_state(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state
