"""Every kind of claim on made-up results for which the verdict is known, both ways."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clickrank.clickmodels import PBM
from clickrank.experiments.claims import Evidence, judge, last_decade_slopes, last_half_rates
from clickrank.experiments.intervals import mean_interval, share_interval
from clickrank.experiments.statements import (
    AnyClaim,
    BelowBound,
    Best,
    Comparable,
    NearBound,
    Order,
    Parameters,
    Row,
    Slope,
    Tail,
    TailOrder,
)
from clickrank.simulate import Result
from clickrank.types import Floats

T = np.array([1, 10, 100, 200, 500, 1000])
FACTS = {"figure": "f", "id": "i", "text": "t", "source": "stated in the text"}


def result(regret: Floats, run_ids: list[int] | None = None) -> Result:
    ids = np.arange(regret.shape[0]) if run_ids is None else np.array(run_ids)
    return Result("p", "m", T, regret, ids, seed=0, seconds=1.0, wanted=regret.shape[0])


def logarithmic(slope: float, runs: int = 200, noise: float = 1.0, users: int = 0) -> Result:
    """Return runs of regret slope·log t plus a level that the same ``users`` share."""
    rng = np.random.default_rng(users)
    level = noise * rng.standard_normal((runs, 1))
    return result(slope * np.log(T) + level)


def linear(rate: float, runs: int) -> Result:
    return result(np.tile(rate * T, (runs, 1)))


def outcome(claim: AnyClaim, bound: float = math.nan, **results: Result) -> str:
    return outcome_of(claim, results, bound)


def outcome_of(claim: AnyClaim, results: dict[str, Result], bound: float = math.nan) -> str:
    verdict = judge(claim, Evidence(results, {}, bound))
    assert any(character.isdigit() for character in verdict.measured), "no verdict without numbers"
    return verdict.outcome


def test_order_holds_fails_and_is_undecided() -> None:
    claim = Order(policies=["a", "b", "c"], **FACTS)  # type: ignore[arg-type]
    low, middle, high = (logarithmic(s) for s in (1.0, 2.0, 3.0))
    assert outcome(claim, a=low, b=middle, c=high) == "holds"
    assert outcome(claim, a=low, b=high, c=middle) == "fails"
    noisy = logarithmic(2.0, runs=5, noise=9.0, users=1)
    assert outcome(claim, a=low, b=noisy, c=high) == "undecided"


def test_order_compares_runs_of_the_same_users() -> None:
    """Noise that both share does not count: unpaired, the same gap would be lost in it."""
    claim = Order(policies=["a", "b"], **FACTS)  # type: ignore[arg-type]
    a = logarithmic(1.0, runs=20, noise=100.0)
    b = logarithmic(1.1, runs=20, noise=100.0)
    assert outcome(claim, a=a, b=b) == "holds"
    elsewhere = logarithmic(1.1, runs=20, noise=100.0, users=7)
    assert outcome(claim, a=a, b=elsewhere) == "undecided"


def test_order_uses_only_runs_that_both_have() -> None:
    claim = Order(policies=["a", "b"], **FACTS)  # type: ignore[arg-type]
    a = result(np.array([[1.0] * 6, [2.0] * 6, [50.0] * 6]), [0, 1, 2])
    b = result(np.array([[3.0] * 6, [2.5] * 6]), [1, 0])
    verdict = judge(claim, Evidence({"a": a, "b": b}, {}))
    assert "a 1.5, b 2.8" in verdict.measured
    assert "2 paired runs" in verdict.measured
    strangers = result(np.ones((2, 6)), [8, 9])
    assert judge(claim, Evidence({"a": a, "b": strangers}, {})).outcome == "undecided"


def test_best_holds_fails_and_is_undecided() -> None:
    claim = Best(policies=["a", "b"], than=["c", "d"], **FACTS)  # type: ignore[arg-type]
    r = {name: logarithmic(s) for name, s in zip("abcd", (1.0, 2.0, 3.0, 4.0), strict=True)}
    assert outcome_of(claim, r) == "holds"
    assert outcome_of(claim, {**r, "c": logarithmic(1.5)}) == "fails"
    assert outcome_of(claim, {**r, "c": logarithmic(2.1, 5, 9.0, users=3)}) == "undecided"


def test_comparable_holds_fails_and_is_undecided() -> None:
    claim = Comparable(policies=("a", "b"), factor=1.5, **FACTS)  # type: ignore[arg-type]
    a = logarithmic(10.0)
    assert outcome(claim, a=a, b=logarithmic(12.0)) == "holds"
    assert outcome(claim, a=a, b=logarithmic(20.0)) == "fails"
    assert outcome(claim, a=logarithmic(20.0), b=a) == "fails"
    assert outcome(claim, a=a, b=logarithmic(14.9, 4, 30.0, users=2)) == "undecided"
    assert outcome(claim, a=a, b=linear(0.0, 4)) == "undecided"


def test_slope_holds_fails_and_is_undecided() -> None:
    claim = Slope(policy="a", low=0.7, high=1.5, **FACTS)  # type: ignore[arg-type]
    assert outcome(claim, bound=2.0, a=logarithmic(2.2)) == "holds"
    assert outcome(claim, bound=2.0, a=logarithmic(4.0)) == "fails"
    assert outcome(claim, bound=2.0, a=logarithmic(1.0)) == "fails"
    assert outcome(claim, bound=2.0, a=linear(0.1, 10)) == "fails"
    rng = np.random.default_rng(0)
    rough = result(2.0 * np.log(T) + 10 * rng.standard_normal((5, T.size)))
    assert outcome(claim, bound=2.0, a=rough) == "undecided"


def test_slopes_are_those_of_the_last_decade() -> None:
    regret = np.where(T < 100, 1000.0, 5.0 * np.log(T) + 3.0)
    assert last_decade_slopes(result(np.array([regret, 2 * regret]))) == pytest.approx([5.0, 10.0])


def test_below_bound_holds_fails_and_is_undecided() -> None:
    claim = BelowBound(policy="a", **FACTS)  # type: ignore[arg-type]
    assert outcome(claim, bound=5.0, a=logarithmic(4.0)) == "holds"
    assert outcome(claim, bound=5.0, a=logarithmic(6.0)) == "fails"
    assert outcome(claim, bound=5.0, a=logarithmic(5.0, 6, 20.0)) == "undecided"


def test_near_bound_holds_fails_and_is_undecided() -> None:
    claim = NearBound(policy="a", low=0.8, high=1.2, **FACTS)  # type: ignore[arg-type]
    assert outcome(claim, bound=5.0, a=logarithmic(5.5)) == "holds"
    assert outcome(claim, bound=5.0, a=logarithmic(7.0)) == "fails"
    assert outcome(claim, bound=5.0, a=logarithmic(3.0)) == "fails"
    assert outcome(claim, bound=5.0, a=logarithmic(6.0, 6, 20.0)) == "undecided"


@pytest.mark.parametrize(
    ("side", "share", "bad", "expected"),
    [
        ("above", 0.001, 10, "holds"),
        ("above", 0.1, 10, "fails"),
        ("above", 0.01, 10, "undecided"),
        ("above", 0.001, 0, "undecided"),
        ("below", 0.01, 0, "holds"),
        ("below", 0.001, 10, "fails"),
        ("below", 0.001, 0, "undecided"),
    ],
)
def test_tail_holds_fails_and_is_undecided(
    side: str, share: float, bad: int, expected: str
) -> None:
    claim = Tail(policy="a", rate=0.02, side=side, share=share, **FACTS)  # type: ignore[arg-type]
    rates = np.where(np.arange(1000) < bad, 0.03, 0.01)
    assert outcome(claim, a=result(rates[:, None] * T)) == expected


@pytest.mark.parametrize(
    ("light", "heavy", "both", "expected"),
    [(0, 20, 5, "holds"), (20, 0, 5, "fails"), (4, 6, 50, "undecided"), (0, 0, 0, "undecided")],
)
def test_tail_order(light: int, heavy: int, both: int, expected: str) -> None:
    """Only runs that tell the two policies apart count."""
    claim = TailOrder(policies=("a", "b"), rate=0.02, **FACTS)  # type: ignore[arg-type]
    runs = np.arange(1000)
    a = np.where(runs < light + both, 0.03, 0.01)
    b = np.where((runs >= light) & (runs < light + both + heavy), 0.03, 0.01)
    found = outcome(claim, a=result(a[:, None] * T), b=result(b[:, None] * T))
    assert found == expected


def test_rates_are_those_of_the_last_half() -> None:
    early = np.array([0.0, 100.0, 100.0, 100.0, 100.0, 110.0])
    assert last_half_rates(result(np.array([early]))) == pytest.approx([10.0 / 500])


def test_parameters_hold_or_fail() -> None:
    models = {
        "q1": PBM([0.1004, 0.5, 0.2], [1.0]),
        "q2": PBM([0.3, 0.4], [1.0]),
    }
    rows = [Row(n_items=2, lowest=0.3, highest=0.4), Row(n_items=3, lowest=0.1, highest=0.5)]
    claim = Parameters(decimals=3, rows=rows, **FACTS)  # type: ignore[arg-type]
    assert judge(claim, Evidence({}, models)).outcome == "holds"
    assert judge(claim, Evidence({}, {"q1": models["q1"]})).outcome == "fails"
    wrong = [rows[0], Row(n_items=3, lowest=0.2, highest=0.5)]
    verdict = judge(Parameters(decimals=3, rows=wrong, **FACTS), Evidence({}, models))  # type: ignore[arg-type]
    assert verdict.outcome == "fails"
    assert "1 of 2 rows" in verdict.measured
    assert "0.2 to 0.5" in verdict.measured
    assert "0.1 to 0.5" in verdict.measured


def test_without_runs_nothing_is_decided() -> None:
    claim = Order(policies=["a", "b"], **FACTS)  # type: ignore[arg-type]
    one = logarithmic(1.0, runs=1)
    for results in ({}, {"a": one, "b": one}):
        verdict = judge(claim, Evidence(results, {}))
        assert verdict == ("undecided", "a: fewer than two runs are finished")


def test_mean_intervals_cover_as_often_as_they_say() -> None:
    """2,000 intervals at 95 %: 60 misses more or less than 100 have a chance below 1e-8."""
    rng = np.random.default_rng(1)
    misses = 0
    for _ in range(2000):
        x = mean_interval(rng.standard_normal(8), 0.95)
        misses += not x.low <= 0.0 <= x.high
    assert 40 < misses < 160


def test_share_intervals_match_tabulated_ones() -> None:
    """Clopper and Pearson's limits for 10 of 100 at 95 %, as in any table."""
    x = share_interval(10, 100, 0.95)
    assert (x.mean, round(x.low, 4), round(x.high, 4)) == (0.1, 0.0490, 0.1762)
    assert share_interval(5, 5, 0.95).high == 1.0
    assert share_interval(0, 5, 0.95).low == 0.0
