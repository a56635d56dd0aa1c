"""The papers' experiments as data, and their claims as assertions."""

from clickrank.experiments.reproduce import Reproduction, reproduce
from clickrank.experiments.spec import Experiment, Scale, list_experiments

__all__ = ["Experiment", "Reproduction", "Scale", "list_experiments", "reproduce"]
