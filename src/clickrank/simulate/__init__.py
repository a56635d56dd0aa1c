"""The simulator: the loop, the result, the comparison."""

from clickrank.simulate.compare import Comparison, Row, Summary, compare
from clickrank.simulate.many import PartialResults, simulate_many
from clickrank.simulate.many_results import ManyResults
from clickrank.simulate.result import Result
from clickrank.simulate.run import simulate

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
