"""How fast the service is, and how much many rankers take."""

from __future__ import annotations

import pytest

from clickrank.serve import loadtest, loadtest_many

pytestmark = pytest.mark.proof

TRIES = 3  # the machine may be busy with something else


def test_ranks_a_second() -> None:
    slow = []
    for _ in range(TRIES):
        report = loadtest.loadtest(rounds=4, seconds=2.0)
        assert report.correct, loadtest.summary(report)
        if report.fast:
            return
        slow.append(loadtest.summary(report))
    raise AssertionError(slow)


def test_ten_thousand_rankers() -> None:
    report = loadtest_many.many_rankers()
    assert report.met, loadtest_many.summary(report)
