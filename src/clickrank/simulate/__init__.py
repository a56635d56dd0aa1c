"""The simulator: the loop, the result, the comparison."""

from clickrank.simulate.compare import Comparison, Row, Summary, compare
from clickrank.simulate.result import Result
from clickrank.simulate.run import simulate

__all__ = ["Comparison", "Result", "Row", "Summary", "compare", "simulate"]
