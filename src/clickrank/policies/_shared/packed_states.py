"""Packed states: states for fast kernels that have another form than the plain state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clickrank.policies.policy_spec import Policy

_PACKING: dict[type[Policy], tuple[Callable[[Any, int], Any], Callable[[Any], Any]]] = {}


def register_packing(
    cls: type[Policy], pack: Callable[[Any, int], Any], unpack: Callable[[Any], Any]
) -> None:
    """Let the fast kernels of a policy run on a packed state instead of the plain one.

    ``pack`` makes it from a plain state and the number of positions, and ``unpack`` converts it
    back. The class of the packed state must be registered too, with its kernels.
    """
    _PACKING[cls] = pack, unpack


def is_packed(cls: type[Policy]) -> bool:
    """Return whether the fast kernels of a policy run on a packed state."""
    return cls in _PACKING


def packed(policy: Policy, state: Any, n_positions: int) -> Any:
    """Return the state that a policy is run on; for most policies the plain state itself."""
    if policy.reference or type(policy) not in _PACKING:
        return state
    return _PACKING[type(policy)][0](state, n_positions)


def unpacked(policy: Policy, state: Any) -> Any:
    """Return the plain form of the state that a policy is run on."""
    return _PACKING[type(policy)][1](state) if type(policy) in _PACKING else state


def first_state(policy: Policy, n_items: int, n_positions: int) -> Any:
    """Return the state that a policy is run on before the first round."""
    return packed(policy, policy.init(n_items, n_positions), n_positions)
