"""Available policies: their settings and abilities, as clients of the service see them."""

from __future__ import annotations

import functools

from clickrank.learning import takes_candidates
from clickrank.policies import POLICIES
from clickrank.reports.descriptions import policy_entries
from clickrank.service.runtime.definitions import FIELDS, takes_priors
from clickrank.service.schemas.answers import PolicyInfo, Setting


@functools.cache
def policy_infos() -> list[PolicyInfo]:
    """Return the descriptions of all policies, sorted by name."""
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
