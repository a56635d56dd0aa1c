"""Metrics of the service for Prometheus."""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from clickrank.service.schemas.answers import FeedbackOf

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # names the folder where the workers write their metrics
MEDIA = b"text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0)
#: Labels of refused feedback by error code.
REASONS = {"late": "late", "unknown_impression": "unknown", "not_shown": "impossible"}


class Metrics:
    """The metrics of one worker. Those of several workers are added up when they are read."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "clickrank_requests", "Requests answered.", ["route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "clickrank_request_seconds",
            "Time from the head of a request to the end of its answer.",
            ["route"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.ranks = Counter("clickrank_ranks", "Lists chosen and logged.", registry=registry)
        self.feedback = Counter("clickrank_feedback", "Feedback accepted.", registry=registry)
        self._refused = Counter(
            "clickrank_refused_clicks",
            "Feedback refused: late, for an unknown impression, or impossible.",
            ["reason"],
            registry=registry,
        )
        for reason in REASONS.values():
            self._refused.labels(reason)
        self.unavailable = Counter(
            "clickrank_unavailable",
            "Requests refused because the database was not available.",
            registry=registry,
        )
        self._folded = Counter("clickrank_folded", "Impressions learned from.", registry=registry)
        self._queue = Gauge(
            "clickrank_queue_length",
            "Writes that wait for the database.",
            multiprocess_mode="livesum",
            registry=registry,
        )
        # Finding a labelled metric takes a lock, so the few that exist are cached here.
        self._requests_of: dict[tuple[str, int], Counter] = {}
        self._seconds_of: dict[str, Histogram] = {}
        self._seen_folded = 0

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        counter = self._requests_of.get((route, status))
        if counter is None:
            counter = self._requests_of[route, status] = self._requests.labels(route, str(status))
            self._seconds_of[route] = self._seconds.labels(route)
        counter.inc()
        self._seconds_of[route].observe(seconds)

    def click_refused(self, code: str) -> None:
        """Count refused feedback, if its error code has a label."""
        reason = REASONS.get(code)
        if reason is not None:
            self._refused.labels(reason).inc()

    def count_feedback(self, results: list[FeedbackOf]) -> None:
        """Count the feedback of a batch."""
        for result in results:
            if result.error is None:
                self.feedback.inc()
            else:
                self.click_refused(result.error.code)

    def note(self, queue_length: int, folded: int) -> None:
        """Update the metrics that the engine counts: waiting writes and folded impressions."""
        self._queue.set(queue_length)
        self._folded.inc(folded - self._seen_folded)
        self._seen_folded = folded

    def text(self) -> bytes:
        """Return the metrics of all workers."""
        if FOLDER not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def forget_dead_workers() -> None:
    """Remove the gauges of workers that have ended: their waiting writes no longer wait."""
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
