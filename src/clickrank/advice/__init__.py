"""Advice from a click log: how people click (`diagnose`), and which policy to use (`whatif`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clickrank._core.lazy import imported

if TYPE_CHECKING:
    from clickrank.advice.diagnosis import Diagnosis, diagnose
    from clickrank.advice.play import Plan
    from clickrank.advice.played_queries import Protocol
    from clickrank.advice.whatif_analysis import WhatIf, whatif

__all__ = ["Diagnosis", "Plan", "Protocol", "WhatIf", "diagnose", "whatif"]

_LATER = {
    "Diagnosis": "diagnosis",
    "Plan": "play",
    "Protocol": "played_queries",
    "WhatIf": "whatif_analysis",
    "diagnose": "diagnosis",
    "whatif": "whatif_analysis",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the help of the command line needs none."""
    return imported(__name__, _LATER, name)
