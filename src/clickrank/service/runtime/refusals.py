"""Refusals: the errors for requests that are invalid, or that cannot be answered at present."""

from __future__ import annotations

from clickrank._core.error_rewording import JSONWording
from clickrank.errors import ClickRankError

#: Returns a value as JSON, to quote it in a message.
quoted = JSONWording().value


class Refused(ClickRankError):
    """A request that is invalid whenever it is sent; ``status`` is the HTTP status, 4xx."""

    def __init__(self, code: str, message: str, status: int = 422) -> None:
        """Store the code and the status for the answer."""
        super().__init__(message)
        self.code = code
        self.status = status


class Unavailable(ClickRankError):
    """A request that had no effect and may be sent again after ``retry_after`` seconds."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        """Store the delay for the answer."""
        super().__init__(message)
        self.retry_after = retry_after
