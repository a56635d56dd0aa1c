"""From a log of clicks to a choice: how people click, and which policy would earn most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clickrank._core.lazy import imported

if TYPE_CHECKING:
    from clickrank.advice.diagnosis import Diagnosis, diagnose
    from clickrank.advice.play import Plan
    from clickrank.advice.queries import Protocol
    from clickrank.advice.what_if import WhatIf, whatif

__all__ = ["Diagnosis", "Plan", "Protocol", "WhatIf", "diagnose", "whatif"]

_LATER = {
    "Diagnosis": "diagnosis",
    "Plan": "play",
    "Protocol": "queries",
    "WhatIf": "what_if",
    "diagnose": "diagnosis",
    "whatif": "what_if",
}


def __getattr__(name: str) -> Any:
    """Import what the simulator needs when it is asked for: the command line's help comes first."""
    return imported(__name__, _LATER, name)
