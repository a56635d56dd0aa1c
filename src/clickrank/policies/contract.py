"""The contract of policies: the kernels that a policy has, and how compiled code calls them.

    rank(params, state, cache, request, rng, ranking, memo)    writes a ranking
    score(params, state, cache, request, rng, items, positions) writes numbers to sort by, instead
    update(params, state, cache, ranking, memo, clicks)         the only writer of statistics

The kernels in the policy's own file are the plain ones, written like the paper. A file of the same
name in `clickrank.fast` may have others, with a cache of values that they need not compute again.
Both must give the same rankings, and read and write the same state, or a packed form of it (see
`clickrank.policies._shared.packed_states`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.jit import code_of as key_of_code
from clickrank._compile.jit import generic, named_tuple_class, source_key, tell_apart
from clickrank._core.arrays import Floats, Ints
from clickrank.errors import invalid
from clickrank.policies._shared.packed_states import is_packed
from clickrank.policies.policy_spec import Policy
from clickrank.rankings.selection import (
    drawn_top_k,
    drawn_top_k_of,
    place,
    renew_order,
    renew_top_k,
    top_k_of,
)


class Request(NamedTuple):
    """Facts that may differ between two calls of one ranker."""

    candidates: Ints  # (n,), items that may be shown, in increasing order; empty: all items


#: The request of a page that may show any item.
ANY_ITEMS = Request(candidates=np.zeros(0, dtype=np.int64))


class Scores(NamedTuple):
    """Buffers for a policy that scores items: the engine sorts them."""

    items: Floats  # (n_items,), scores: larger is better
    positions: Floats  # (n_positions,), larger is more prominent; initially the upper ones
    best: Ints  # (n_positions,), items by decreasing score
    order: Ints  # (n_positions,), positions by decreasing prominence
    cache: Any  # the cache of the policy's own kernels


tell_apart(Request)
tell_apart(Scores)


class PolicyKernels(NamedTuple):
    """The functions of one policy that are compiled, and the function that makes their cache."""

    rank: Callable[..., None] | None
    score: Callable[..., None] | None
    update: Callable[..., None]
    build: Callable[[Any, Any], Any] | None  # makes the cache of params and state; None: no cache
    cache: type | None
    lean: bool
    draw_ties: bool
    candidates: bool = False  # whether rank honours the candidates of a request; scorers always do
    call_update: bool = False  # whether the loop calls update, instead of inlining its code

    @property
    def honour_candidates(self) -> bool:
        """Whether these kernels can rank the candidates of a request."""
        return self.score is not None or self.candidates


_PLAIN: dict[type, PolicyKernels] = {}  # keyed by the class of the state
_FAST: dict[type, PolicyKernels] = {}
_BY_TYPES: dict[tuple[type, type | None], PolicyKernels] = {}
_STATES: dict[type[Policy], list[type]] = {}
_SOURCES: dict[type[Policy], str | None] = {}


def add_kernels(cls: type[Policy], state: type, kernels: PolicyKernels, *, fast: bool) -> None:
    """Store the kernels of a policy for a class of states, where compiled code finds them."""
    if not fast:
        _STATES.setdefault(cls, []).append(state)
        _SOURCES[cls] = source_key(cls)
    (_FAST if fast else _PLAIN)[state] = kernels
    _BY_TYPES[state, kernels.cache] = kernels
    machine_code_key.cache_clear()


def _states_of(cls: type[Policy]) -> list[type]:
    if cls not in _STATES:
        raise invalid(cls.__name__, "the class must be registered with register", cls)
    return _STATES[cls]


def kernels_of(policy: Policy, state: Any) -> PolicyKernels:
    """Return the kernels that a policy is run with."""
    _states_of(type(policy))
    plain = plain_kernels(state)
    return plain if policy.reference else _FAST.get(type(state), plain)


def plain_kernels(state: Any) -> PolicyKernels:
    """Return the kernels that `register` was given, which for most are in the policy's own file."""
    return _PLAIN[type(state)]


def plain_kernels_for(cls: type[Policy], state: type) -> PolicyKernels:
    """Return the plain kernels of a registered policy for states of a class."""
    _states_of(cls)
    return _PLAIN[state]


def kernels_of_class(cls: type[Policy]) -> list[tuple[type, PolicyKernels]]:
    """Return all kernels of a policy, plain and fast, each with the class of the state."""
    tables = (_PLAIN, _FAST)
    return [(state, t[state]) for state in _states_of(cls) for t in tables if state in t]


def has_fast_kernels(cls: type[Policy]) -> bool:
    """Return whether the policy has fast kernels in addition to the plain ones."""
    return is_packed(cls) or any(state in _FAST for state in _states_of(cls))


def scores_items(policy: Policy | type[Policy]) -> bool:
    """Return whether the policy sorts items by a score, so that any candidates can be ranked."""
    cls = policy if isinstance(policy, type) else type(policy)
    return all(_PLAIN[state].score is not None for state in _states_of(cls))


def new_cache(
    kernels: PolicyKernels, params: Any, state: Any, n_items: int, n_positions: int
) -> Any:
    """Return the cache of a state, computed from its statistics."""
    own = None if kernels.build is None else kernels.build(params, state)
    if kernels.score is None:
        return own
    return Scores(
        items=np.zeros(n_items),
        positions=np.arange(n_positions, 0, -1).astype(np.float64),
        best=np.arange(n_positions),
        order=np.arange(n_positions),
        cache=own,
    )


def source_of(policy: Policy) -> str | None:
    """Return a hash of the source of the policy's class: see `source_key`."""
    _states_of(type(policy))
    return _SOURCES[type(policy)]


def code_of(policy: Policy) -> str | None:
    """Return the key of the machine code of the policy's kernels."""
    return machine_code_key(type(policy))


@functools.cache
def machine_code_key(cls: type[Policy]) -> str | None:
    """Return the key of the machine code of a policy: see `clickrank._compile.jit.code_of`."""
    found = [
        part
        for state, kernels in kernels_of_class(cls)
        for part in (state, *kernels._replace(build=None, candidates=False))
        if part is not None
    ]
    if any(kernels.score for _, kernels in kernels_of_class(cls)):  # sorting is compiled in, too
        found += [_rank_scored, _rank_scored_drawing_ties, _update_scored]
    return key_of_code(_SOURCES[cls], *found)


# The verbs that compiled loops call, dispatched on the classes of ``state`` and ``cache``. The
# bodies run if Numba is switched off (NUMBA_DISABLE_JIT=1).


def rank(
    params: Any,
    state: Any,
    cache: Any,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Write a ranking and its memo; this may change the cache, but not the statistics."""
    kernel = _rank_kernel(type(state), _class_of(cache), _class_of(getattr(cache, "cache", None)))
    kernel(params, state, cache, request, rng, ranking, memo)


def score(
    params: Any,
    state: Any,
    cache: Any,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Write one score per item, and one number per position if positions differ."""
    kernel = _BY_TYPES[type(state), _class_of(cache)].score
    assert kernel is not None
    kernel(params, state, cache, request, rng, items, positions)


def update(params: Any, state: Any, cache: Any, ranking: Ints, memo: Ints, clicks: Ints) -> None:
    """Fold one settled impression into the statistics."""
    own = cache.cache if isinstance(cache, Scores) else cache
    _BY_TYPES[type(state), _class_of(own)].update(params, state, own, ranking, memo, clicks)


def _class_of(value: Any) -> type | None:
    return None if value is None else type(value)


def _rank_scored(
    params: Any,
    state: Any,
    cache: Scores,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Sort the items by their scores, ties at random; the best gets the most prominent position."""
    score(params, state, cache.cache, request, rng, cache.items, cache.positions)
    if request.candidates.shape[0] == 0:
        renew_top_k(cache.items, rng, cache.best)
    else:
        top_k_of(request.candidates, cache.items, rng, cache.best)
    renew_order(cache.positions, rng, cache.order)
    place(cache.best, cache.order, ranking)


def _rank_scored_drawing_ties(
    params: Any,
    state: Any,
    cache: Scores,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Sort the items by their scores, and draw tied items position by position."""
    score(params, state, cache.cache, request, rng, cache.items, cache.positions)
    if request.candidates.shape[0] == 0:
        drawn_top_k(cache.items, rng, cache.best)
    else:
        drawn_top_k_of(request.candidates, cache.items, rng, cache.best)
    renew_order(cache.positions, rng, cache.order)
    place(cache.best, cache.order, ranking)


def _update_scored(
    params: Any, state: Any, cache: Scores, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    update(params, state, cache.cache, ranking, memo, clicks)


def _rank_kernel(state: type, cache: type | None, inner: type | None) -> Callable[..., None]:
    if cache is not Scores:
        kernel = _BY_TYPES[state, cache].rank
        assert kernel is not None
        return kernel
    return _rank_scored_drawing_ties if _BY_TYPES[state, inner].draw_ties else _rank_scored


def _numba_class(numba_type: Any) -> type | None:
    """Return the NamedTuple class of a Numba type; None for that of None."""
    return named_tuple_class(numba_type) if hasattr(numba_type, "instance_class") else None


def _inner_class(cache: Any) -> type | None:
    """Return the class of the cache that the policy's own kernels read."""
    if _numba_class(cache) is not Scores:
        return _numba_class(cache)
    return _numba_class(cache.types[Scores._fields.index("cache")])


def _make_generic(lean: bool) -> None:
    def rank_for(params, state, cache, request, rng, ranking, memo):  # type: ignore[no-untyped-def]
        inner = _inner_class(cache)
        if _BY_TYPES[named_tuple_class(state), inner].lean != lean:
            return None
        return _rank_kernel(named_tuple_class(state), _numba_class(cache), inner)

    def score_for(params, state, cache, request, rng, items, positions):  # type: ignore[no-untyped-def]
        kernels = _BY_TYPES[named_tuple_class(state), _numba_class(cache)]
        return kernels.score if kernels.lean == lean else None

    def updating(call: bool) -> Callable[..., Any]:
        def update_for(params, state, cache, ranking, memo, clicks):  # type: ignore[no-untyped-def]
            kernels = _BY_TYPES[named_tuple_class(state), _inner_class(cache)]
            if (kernels.lean, kernels.call_update) != (lean, call):
                return None
            return _update_scored if _numba_class(cache) is Scores else kernels.update

        return update_for

    # These are inlined in the loop, which calls each once. A call would copy all arrays of state
    # and cache: more than 100 numbers, and for many policies half the time of a round.
    generic(rank, rank_for, lean, inline=True)
    generic(score, score_for, lean, inline=True)
    generic(update, updating(call=False), lean, inline=True)
    generic(update, updating(call=True), lean)


_make_generic(lean=False)
_make_generic(lean=True)
