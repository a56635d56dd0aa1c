"""Naive twins of all policies, by registered name; the cases in which they are compared."""

from __future__ import annotations

from typing import Any

from tests.twins import block_policies, lagree_2016
from tests.twins.base import Twin

TWINS: dict[str, type[Twin]] = {
    **lagree_2016.TWINS,
    **block_policies.TWINS,
}

#: Settings that each policy is compared with, by policy; without an entry, its defaults alone.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    **block_policies.SETTINGS,
}

CASES = [(name, settings) for name in TWINS for settings in SETTINGS.get(name, [{}])]
