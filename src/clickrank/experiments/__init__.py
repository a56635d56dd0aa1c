"""Experiments of the papers: specifications in TOML, simulations, claims and the report."""

from clickrank.experiments.figure_spec import Experiment, Scale
from clickrank.experiments.paper_files import list_experiments
from clickrank.experiments.reproduction import Reproduction, reproduce

__all__ = ["Experiment", "Reproduction", "Scale", "list_experiments", "reproduce"]
