"""Click logs: one schema of impressions, and what is counted of them."""

from clickrank.logs.counts import Cells, Counts, Sessions

__all__ = ["Cells", "Counts", "Sessions"]
