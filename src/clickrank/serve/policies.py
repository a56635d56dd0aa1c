"""The policies that a ranker may have."""

from __future__ import annotations

import functools

from clickrank.catalogue import policy_entries
from clickrank.policies import POLICIES
from clickrank.ranker import takes_candidates
from clickrank.store.definition import takes_priors
from clickrank.wire import PolicyInfo, Setting

#: What a request gives in fields of their own.
FIELDS = ("prior", "initial")


@functools.cache
def policy_infos() -> list[PolicyInfo]:
    """Return them by name."""
    return [
        PolicyInfo(
            entry.name,
            entry.summary,
            entry.assumes.text(),
            [
                Setting(each.name, each.required, each.default)
                for each in entry.parameters
                if each.name not in FIELDS
            ],
            takes_candidates(POLICIES[entry.name]),
            takes_priors(entry.name),
            entry.cautions,
        )
        for entry in policy_entries()
    ]
