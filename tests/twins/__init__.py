"""Naive twins of all policies, by registered name; the cases in which they are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clickrank.features import Features
from tests.twins import (
    assignment_policies,
    block_policies,
    cascade_policies,
    combes_2014,
    gauthier_2022_mcmc,
    general_clicks,
    grant_2020,
    grant_2020_unknown,
    komiyama_2017,
    kveton_2022,
    lagree_2016,
    li_2019,
    zong_2016,
)
from tests.twins.base import Twin

TWINS: dict[str, type[Twin]] = {
    **lagree_2016.TWINS,
    **assignment_policies.TWINS,
    **block_policies.TWINS,
    **general_clicks.TWINS,
    **gauthier_2022_mcmc.TWINS,
    **komiyama_2017.TWINS,
    **cascade_policies.TWINS,
    **combes_2014.TWINS,
    **kveton_2022.TWINS,
    **grant_2020.TWINS,
    **li_2019.TWINS,
    **zong_2016.TWINS,
    **grant_2020_unknown.TWINS,
}

#: Settings that each policy is compared with, by policy; without an entry, its defaults alone. One
#: that depends on the number of items is a function of it.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    **lagree_2016.SETTINGS,
    **block_policies.SETTINGS,
    **cascade_policies.SETTINGS,
    **combes_2014.SETTINGS,
    **general_clicks.SETTINGS,
    **gauthier_2022_mcmc.SETTINGS,
    **kveton_2022.SETTINGS,
    **grant_2020.SETTINGS,
    **li_2019.SETTINGS,
    **zong_2016.SETTINGS,
    **grant_2020_unknown.SETTINGS,
    "pmed": [{}, {"hinge": True, "beta": 0.02, "gamma": 0.5}, {"alpha": 3.0, "renewal": 0.5}],
}

#: Of policies that need features: those of so many items.
FEATURES: dict[str, Callable[[int], Features]] = {
    **zong_2016.FEATURES,
}

# From the last on: the checks of policies, beside which these run, begin with the first, and what
# the one has compiled the other finds on disk.
CASES = [(name, settings) for name in [*TWINS][::-1] for settings in SETTINGS.get(name, [{}])]
