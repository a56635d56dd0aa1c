"""The two ways in which the service says no: the request is wrong, or the time is."""

from __future__ import annotations

from clickrank._core.wording import JSONWording
from clickrank.errors import ClickRankError

#: Returns a value as JSON, to quote it in a message.
quoted = JSONWording().value


class Refused(ClickRankError):
    """A request that cannot be done, whenever it is sent; ``status`` is the HTTP status, 4xx."""

    def __init__(self, code: str, message: str, status: int = 422) -> None:
        """Keep what to tell the client."""
        super().__init__(message)
        self.code = code
        self.status = status


class Unavailable(ClickRankError):
    """A request that may be sent again in ``retry_after`` seconds: nothing of it was done."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        """Keep what to tell the client."""
        super().__init__(message)
        self.retry_after = retry_after
