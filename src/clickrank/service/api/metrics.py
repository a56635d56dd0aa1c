"""What the service counts, for Prometheus."""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from clickrank.service.schemas.answers import FeedbackOf

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where the workers of one service add up their numbers
MEDIA = b"text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0)
#: Why clicks are refused, by the code of the error.
REASONS = {"late": "late", "unknown_impression": "unknown", "not_shown": "impossible"}


class Metrics:
    """The numbers of one worker; with several workers they are added up when asked for."""

    def __init__(self) -> None:
        own = self._own = CollectorRegistry()
        self._requests = Counter(
            "clickrank_requests", "Requests answered.", ["route", "status"], registry=own
        )
        self._seconds = Histogram(
            "clickrank_request_seconds",
            "Time from the request's head to the end of its answer.",
            ["route"],
            buckets=BUCKETS,
            registry=own,
        )
        self.ranks = Counter("clickrank_ranks", "Lists chosen and on record.", registry=own)
        self.feedback = Counter("clickrank_feedback", "Feedback taken.", registry=own)
        self._refused = Counter(
            "clickrank_refused_clicks",
            "Feedback refused: late, of an unknown impression, or impossible.",
            ["reason"],
            registry=own,
        )
        for reason in REASONS.values():
            self._refused.labels(reason)
        self.unavailable = Counter(
            "clickrank_unavailable", "Requests not done for want of the database.", registry=own
        )
        self._folded = Counter("clickrank_folded", "Impressions learned from.", registry=own)
        self._queue = Gauge(
            "clickrank_queue_length",
            "Writes that wait for the database.",
            multiprocess_mode="livesum",
            registry=own,
        )
        # Looking a label up takes a lock; the few that there are stay here.
        self._requests_of: dict[tuple[str, int], Counter] = {}
        self._seconds_of: dict[str, Histogram] = {}
        self._seen_folded = 0

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        counter = self._requests_of.get((route, status))
        if counter is None:
            counter = self._requests_of[route, status] = self._requests.labels(route, str(status))
            self._seconds_of[route] = self._seconds.labels(route)
        counter.inc()
        self._seconds_of[route].observe(seconds)

    def click_refused(self, code: str) -> None:
        """Count feedback that was refused, if for a reason of its own."""
        reason = REASONS.get(code)
        if reason is not None:
            self._refused.labels(reason).inc()

    def took(self, results: list[FeedbackOf]) -> None:
        """Count a batch of feedback."""
        for result in results:
            if result.error is None:
                self.feedback.inc()
            else:
                self.click_refused(result.error.code)

    def note(self, queue_length: int, folded: int) -> None:
        """Take over what the engine counts itself: what waits now, and all it has folded."""
        self._queue.set(queue_length)
        self._folded.inc(folded - self._seen_folded)
        self._seen_folded = folded

    def text(self) -> bytes:
        """Return all numbers, of all workers."""
        if FOLDER not in os.environ:
            return generate_latest(self._own)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def forget_dead_workers() -> None:
    """Drop what dead workers left in gauges: what waited in them waits no more."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return
    for file in Path(folder).glob("gauge_live*_*.db"):
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            mark_process_dead(process)  # type: ignore[no-untyped-call]
        except PermissionError:
            pass  # alive
