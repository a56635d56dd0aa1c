"""Experiments of the papers: specifications in TOML, simulations, claims and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clickrank._core.lazy import imported

if TYPE_CHECKING:
    from clickrank.experiments.figure_spec import Experiment, Scale
    from clickrank.experiments.paper_files import list_experiments
    from clickrank.experiments.reproduction import Reproduction, reproduce

__all__ = ["Experiment", "Reproduction", "Scale", "list_experiments", "reproduce"]

_HOMES = {
    "Experiment": "figure_spec",
    "Reproduction": "reproduction",
    "Scale": "figure_spec",
    "list_experiments": "paper_files",
    "reproduce": "reproduction",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: the shipped verdicts need no simulation."""
    return imported(__name__, _HOMES, name)
