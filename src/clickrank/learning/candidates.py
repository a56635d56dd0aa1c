"""Candidates: which policies can choose from some of their items, and checks of the candidates."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Ints
from clickrank.errors import InvalidValue, invalid
from clickrank.policies import POLICIES, Policy
from clickrank.policies.capabilities import DropsItems, ItemsComeAndGo


def takes_candidates(policy: Policy | type[Policy]) -> bool:
    """Return whether the policy can choose from some of its items."""
    cls = policy if isinstance(policy, type) else type(policy)
    return issubclass(cls, ItemsComeAndGo)


def drops_items(policy: Policy | type[Policy]) -> bool:
    """Return whether the policy drops items for good, and can go on when these are retired."""
    cls = policy if isinstance(policy, type) else type(policy)
    return issubclass(cls, DropsItems)


def can_go_on(
    policy: Policy | type[Policy], same_items: bool, before: Collection[int], now: Collection[int]
) -> bool:
    """Return whether a policy can go on when the catalogue changes, instead of starting again.

    ``same_items`` is False if items were added; ``before`` and ``now`` are the retired items.
    """
    if takes_candidates(policy):
        return True
    gone, back = set(now).difference(before), set(before).difference(now)
    return same_items and not back and (drops_items(policy) or not gone)


def candidate_policies() -> list[str]:
    """Return the names of the policies that can choose from some of their items."""
    return [name for name, cls in POLICIES.items() if takes_candidates(cls)]


def refuse_candidates(policy: Policy, candidates: ArrayLike | None) -> None:
    """Raise if candidates are given to a policy that cannot choose from them."""
    if candidates is not None:
        names = ", ".join(candidate_policies())
        raise InvalidValue(
            f"{type(policy).__name__}: {policy.name} cannot choose from candidates; those that can "
            f"are {names}."
        )


def check_candidates(
    owner: str, candidates: ArrayLike, n_items: int, n_positions: int, retired: Collection[int]
) -> Ints:
    """Check candidates and return them in increasing order."""
    found = np.asarray(candidates)
    rule = f"candidates must be distinct items between 0 and {n_items - 1}"
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise invalid(owner, rule, candidates)
    allowed: Ints = np.unique(found).astype(np.int64)
    if allowed.size < found.size or (allowed.size and not 0 <= allowed[0] <= allowed[-1] < n_items):
        raise invalid(owner, rule, found.tolist())
    if allowed.size < n_positions:
        rule = f"at least n_positions ({n_positions}) candidates must be given"
        raise invalid(owner, rule, allowed.size)
    gone = set(retired).intersection(allowed.tolist()) if retired else ()
    if gone:
        raise invalid(owner, "candidates must not be retired", sorted(gone))
    return allowed
