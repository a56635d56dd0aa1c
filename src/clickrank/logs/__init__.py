"""Click logs: one schema of impressions, and what is counted of them."""

from clickrank.logs.counts import Cells, Counts, Sessions
from clickrank.logs.impressions import Impressions

__all__ = ["Cells", "Counts", "Impressions", "Sessions"]
