"""The policies that a ranker may have."""

from __future__ import annotations

import functools

from clickrank.catalogue import policy_entries
from clickrank.policies import POLICIES
from clickrank.ranker import takes_candidates
from clickrank.store.definition import takes_priors
from clickrank.wire import PolicyInfo


@functools.cache
def policy_infos() -> list[PolicyInfo]:
    """Return them by name."""
    return [
        PolicyInfo(
            entry.name,
            entry.summary,
            entry.assumes.text(),
            takes_candidates(POLICIES[entry.name]),
            takes_priors(entry.name),
        )
        for entry in policy_entries()
    ]
