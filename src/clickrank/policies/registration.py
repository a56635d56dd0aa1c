"""Registration of policies: `register` and `register_fast` check kernels and store them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from clickrank._compile.jit import tell_apart
from clickrank._core.arrays import particle_fields, statistic_fields
from clickrank.errors import invalid
from clickrank.policies.capabilities import check_abilities
from clickrank.policies.contract import PolicyKernels, add_kernels, plain_kernels_for
from clickrank.policies.policy_spec import POLICIES, Policy


def register(
    cls: type[Policy],
    state: type,
    rank: Callable[..., None] | None = None,
    update: Callable[..., None] | None = None,
    *,
    score: Callable[..., None] | None = None,
    cache: type | None = None,
    build: Callable[[Any, Any], Any] | None = None,
    lean: bool = False,
    draw_ties: bool = False,
) -> None:
    """Register a policy by its name, and its kernels for a class of states.

    These are the plain kernels, unless the state is a packed one that only fast kernels run on.

    Parameters
    ----------
    cls, state
        The spec, and the NamedTuple of its statistics.
    rank, score
        One of the two: ``rank`` writes a ranking, ``score`` writes scores that the engine sorts by.
    update
        Folds one settled impression into the statistics.
    cache, build
        The NamedTuple of values that are not statistics, and the function that makes it from params
        and state. In plain kernels it has only values that cannot be computed from statistics, for
        example the particle of a random walk.
    lean
        Whether the kernels create no array, which saves time for a state of many fields.
    draw_ties
        Whether tied scores are drawn position by position, instead of shuffled.
    """
    if not statistic_fields(state):
        raise invalid(cls.__name__, "the state must have a field marked as statistic", state)
    if update is None or (rank is None) == (score is None):
        rule = "register must be given update, and either rank or score"
        raise invalid(cls.__name__, rule, (rank, score, update))
    _check_kernels(cls, rank=rank, score=score, update=update)
    check_abilities(cls)
    _check_cache(state, cache)
    POLICIES.add(cls.name, cls)
    tell_apart(state)
    kernels = PolicyKernels(rank, score, update, build, cache, lean, draw_ties)
    add_kernels(cls, state, kernels, fast=False)


def register_fast(
    cls: type[Policy],
    state: type,
    cache: type,
    build: Callable[[Any, Any], Any],
    rank: Callable[..., None] | None = None,
    update: Callable[..., None] | None = None,
    *,
    score: Callable[..., None] | None = None,
    lean: bool = False,
    candidates: bool = False,
    call_update: bool = False,
) -> None:
    """Register further kernels for a registered policy: faster, with the same rankings.

    ``build`` makes the cache from params and state, so that all but its particle may be dropped at
    any time. ``candidates`` declares that ``rank`` honours the candidates of a request; otherwise
    the plain kernels do, if they score items. ``call_update`` keeps the code of ``update`` out of
    the loop, if inlining would make the code of ``rank`` slower: measure both.
    """
    plain = plain_kernels_for(cls, state)
    if score is None and plain.score is not None and plain.cache is not None:
        rule = "fast kernels must score items if the plain ones do so with a cache"
        raise invalid(cls.__name__, rule, rank)
    if update is None or (rank is None) == (score is None):
        rule = "register_fast must be given update, and either rank or score"
        raise invalid(cls.__name__, rule, (rank, score, update))
    _check_kernels(cls, rank=rank, score=score, update=update)
    walks = particle_fields(plain.cache) if plain.cache is not None else ()
    if set(walks) != set(particle_fields(cache)):
        rule = f"the fast cache must have the particle of the plain kernels ({', '.join(walks)})"
        raise invalid(cls.__name__, rule, particle_fields(cache))
    _check_cache(state, cache)
    kernels = PolicyKernels(
        rank, score, update, build, cache, lean, plain.draw_ties, candidates, call_update
    )
    add_kernels(cls, state, kernels, fast=True)


_PARAMETERS = {
    "rank": ("params", "state", "cache", "request", "rng", "ranking", "memo"),
    "score": ("params", "state", "cache", "request", "rng", "items", "positions"),
    "update": ("params", "state", "cache", "ranking", "memo", "clicks"),
}


def _check_kernels(cls: type[Policy], **kernels: Callable[..., None] | None) -> None:
    """Raise if a kernel has other parameters: Numba's message would not name the kernel."""
    for verb, kernel in kernels.items():
        if kernel is not None and tuple(inspect.signature(kernel).parameters) != _PARAMETERS[verb]:
            taken = tuple(inspect.signature(kernel).parameters)
            rule = f"{verb} must take ({', '.join(_PARAMETERS[verb])})"
            raise invalid(cls.__name__, rule, f"({', '.join(taken)})")


def _check_cache(state: type, cache: type | None) -> None:
    """Raise if a particle of a cache has the name of a statistic; give the class a unique name."""
    if cache is None:
        return
    tell_apart(cache)
    same = sorted({*statistic_fields(state)} & {*particle_fields(cache)})
    if same:
        raise invalid(
            state.__qualname__, "fields of a particle must not have the names of statistics", same
        )
