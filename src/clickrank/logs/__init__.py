"""Click logs: reading them into one schema, counting them, and returning their impressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clickrank._core.extras import require
from clickrank._core.lazy import imported
from clickrank.logs.counts import Cells, Counts, Sessions
from clickrank.logs.impressions import Impressions

if TYPE_CHECKING:
    from clickrank.logs.click_log import Log, open_log
    from clickrank.logs.log_report import LogReport

__all__ = ["Cells", "Counts", "Impressions", "Log", "LogReport", "Sessions", "open_log"]

#: The engines that can count the rows of a log.
ENGINES = ("duckdb", "pyspark")

_NEED_EXTRA = {"Log": "click_log", "open_log": "click_log", "LogReport": "log_report"}


def __getattr__(name: str) -> Any:
    """Import the names that need the extra ``logs`` when they are first used."""
    if name in _NEED_EXTRA:
        require("Logs need", "logs")
    return imported(__name__, _NEED_EXTRA, name)
