"""From a log of clicks to a choice: how people click, and which policy would earn most."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clickrank.advice.diagnosis import Diagnosis, diagnose
    from clickrank.advice.earnings import Plan
    from clickrank.advice.forecast import WhatIf, whatif
    from clickrank.advice.queries import Protocol

__all__ = ["Diagnosis", "Plan", "Protocol", "WhatIf", "diagnose", "whatif"]

_LATER = {
    "Diagnosis": "diagnosis",
    "Plan": "earnings",
    "Protocol": "queries",
    "WhatIf": "forecast",
    "diagnose": "diagnosis",
    "whatif": "forecast",
}


def __getattr__(name: str) -> Any:
    """Import what the simulator needs when it is asked for: the command line's help comes first."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
