"""The simulator: the loop, the result, the comparison."""

from clickrank.simulation.comparison import Comparison, Row, Summary, compare
from clickrank.simulation.many import PartialResults, simulate_many
from clickrank.simulation.many_results import ManyResults
from clickrank.simulation.result import Result
from clickrank.simulation.run import simulate

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
