"""Simulation: `simulate`, `simulate_many` and `compare` policies on click models."""

from clickrank.simulation.comparison import Comparison, Row, Summary, compare
from clickrank.simulation.many_results import ManyResults
from clickrank.simulation.simulate_queries import PartialResults, simulate_many
from clickrank.simulation.simulate_runs import simulate
from clickrank.simulation.simulation_result import Result

__all__ = [
    "Comparison",
    "ManyResults",
    "PartialResults",
    "Result",
    "Row",
    "Summary",
    "compare",
    "simulate",
    "simulate_many",
]
