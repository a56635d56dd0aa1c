"""The papers' experiments as data, and their claims as assertions."""

from clickrank.experiments.listing import list_experiments
from clickrank.experiments.reproduction import Reproduction, reproduce
from clickrank.experiments.spec import Experiment, Scale

__all__ = ["Experiment", "Reproduction", "Scale", "list_experiments", "reproduce"]
