"""Every kind of claim on made-up results for which the verdict is known, both ways."""

from __future__ import annotations

import dataclasses
import math

import msgspec
import numpy as np
import pytest

from clickrank._core.arrays import Floats
from clickrank.clickmodels import PBM
from clickrank.experiments.claim_evidence import Evidence, last_decade_slopes, last_half_rates
from clickrank.experiments.claim_kinds import (
    AnyClaim,
    AnyRatio,
    BelowBound,
    BestOf,
    BoundFollows,
    BoundRatio,
    CatchUp,
    Falls,
    Flattens,
    Growth,
    Level,
    NearBest,
    NearBound,
    Order,
    PanelRatio,
    ParameterRow,
    Parameters,
    Range,
    Rank,
    Ratio,
    Settled,
    Slope,
    Spread,
    Tail,
    TailOrder,
    TimeRatio,
    Value,
)
from clickrank.experiments.claims import judge, rounds_of
from clickrank.experiments.model_sources import Point, Sweep
from clickrank.experiments.verdicts import ClaimVerdict
from clickrank.simulation import Result

T = np.array([1, 10, 100, 200, 500, 1000])
FACTS = {"figure": "f", "id": "i", "text": "t", "source": "stated in the text"}
SETTLED = Settled(right=0.01, wrong=0.03)


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
    assert "a 1.5, b 2.75" in verdict.measured
    assert "2 paired runs" in verdict.measured
    strangers = result(np.ones((2, 6)), [8, 9])
    assert judge(claim, Evidence({"a": a, "b": strangers}, {})).outcome == "undecided"


def stopped_evidence(early: Result, stops: tuple[int, ...] = (100,)) -> Evidence:
    """Return 20 passes of a curve to round 1000, and of another that was stopped before."""
    whole = logarithmic(1.0, runs=20, noise=0.1)
    return Evidence(
        {"whole": whole}, {}, curves=("whole", "early"), stops=stops, stopped={"early": (early,)}
    )


def cut(whole: Result, rounds: int) -> Result:
    count = int(np.searchsorted(T, rounds, side="right"))
    return dataclasses.replace(whole, checkpoints=T[:count], regret=whole.regret[:, :count])


def test_a_stopped_curve_decides_only_that_it_loses_more() -> None:
    """Its regret is a lower bound, so that nothing follows from a small one."""
    less = Order(policies=["whole", "early"], **FACTS)  # type: ignore[arg-type]
    more = Order(policies=["early", "whole"], **FACTS)  # type: ignore[arg-type]
    bad = stopped_evidence(cut(logarithmic(9.0, runs=20, noise=0.1), 100))
    good = stopped_evidence(cut(logarithmic(0.1, runs=20, noise=0.1), 100))
    assert (judge(less, bad).outcome, judge(more, bad).outcome) == ("holds", "fails")
    assert (judge(less, good).outcome, judge(more, good).outcome) == ("undecided", "undecided")
    assert judge(less, good).needed_passes > 1000  # more such runs would not decide


@pytest.mark.parametrize(
    ("policies", "window", "bad", "good"),
    [
        (("early", "whole"), "not much more", "fails", "undecided"),
        (("whole", "early"), "not much more", "holds", "undecided"),
        (("early", "whole"), "much more", "holds", "undecided"),
        (("whole", "early"), "similar", "fails", "undecided"),
        (("whole", "early"), "much more", "fails", "undecided"),
    ],
)
def test_ratios_with_a_stopped_curve(
    policies: tuple[str, str], window: str, bad: str, good: str
) -> None:
    claim = Ratio(policies=policies, window=window, **FACTS)  # type: ignore[arg-type]
    high = stopped_evidence(cut(logarithmic(20.0, runs=20, noise=0.1), 100))
    low = stopped_evidence(cut(logarithmic(0.1, runs=20, noise=0.1), 100))
    assert judge(claim, high).outcome == bad
    assert judge(claim, low).outcome == good
    assert "(early stopped at round 100)" in judge(claim, high).measured


def test_stops_share_the_level() -> None:
    """The chance of an error is split between whole runs and each round and curve of a stop."""
    claim = Order(policies=["whole", "early"], **FACTS)  # type: ignore[arg-type]
    early = cut(logarithmic(9.0, runs=20, noise=0.1), 100)
    evidence = stopped_evidence(early, stops=(10, 100))
    chance = 1.0 - evidence.level
    (comparison,) = judge(claim, evidence).comparisons
    assert comparison.stopped is not None
    parts = [1.0 - comparison.level] * 4
    both = evidence._replace(results={**evidence.results, "early": logarithmic(9.0, runs=20)})
    (whole,) = judge(claim, both._replace(stopped={})).comparisons
    assert sum(parts) + 1.0 - whole.level == pytest.approx(chance)


def test_a_curve_that_was_not_played_keeps_the_best_open() -> None:
    claim = NearBest(policies=["whole"], window="not much more", **FACTS)  # type: ignore[arg-type]
    evidence = stopped_evidence(cut(logarithmic(9.0, runs=20, noise=0.1), 100))
    assert judge(claim, evidence).outcome == "holds"
    missing = evidence._replace(curves=("whole", "early", "missing"))
    verdict = judge(claim, missing)
    assert verdict.outcome == "undecided"
    assert "curves without a complete pass: 1" in verdict.measured


def test_strata_are_the_columns_of_a_pass() -> None:
    """Two queries whose regrets differ much, but hardly from run to run."""
    claim = Value(policy="a", window="as stated", low=45.0, high=55.0, **FACTS)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    ends = np.tile([40.0, 60.0], 4)[:, None] + 0.1 * rng.standard_normal((8, 1))
    a = result(np.tile(ends, (1, 6)))
    queries = Evidence({"a": a}, {}, pass_size=2, stratified=True)
    assert judge(claim, queries).outcome == "holds"
    assert judge(claim, queries._replace(pass_size=1, stratified=False)).outcome == "undecided"


def test_best_holds_fails_and_is_undecided() -> None:
    claim = BestOf(policies=["a", "b"], than=["c", "d"], **FACTS)  # type: ignore[arg-type]
    r = {name: logarithmic(s) for name, s in zip("abcd", (1.0, 2.0, 3.0, 4.0), strict=True)}
    assert outcome_of(claim, r) == "holds"
    assert outcome_of(claim, {**r, "c": logarithmic(1.5)}) == "fails"
    assert outcome_of(claim, {**r, "c": logarithmic(2.1, 5, 9.0, users=3)}) == "undecided"


def test_a_ratio_that_is_similar_holds_fails_and_is_undecided() -> None:
    claim = Ratio(policies=("a", "b"), window="similar", **FACTS)  # type: ignore[arg-type]
    a = logarithmic(10.0)
    assert outcome(claim, a=a, b=logarithmic(12.0)) == "holds"
    assert outcome(claim, a=a, b=logarithmic(20.0)) == "fails"
    assert outcome(claim, a=logarithmic(20.0), b=a) == "fails"
    assert outcome(claim, a=a, b=logarithmic(14.0, 4, 30.0, users=2)) == "undecided"
    assert outcome(claim, a=a, b=linear(0.0, 4)) == "undecided"


def test_slope_holds_fails_and_is_undecided() -> None:
    claim = Slope(policy="a", window="similar", **FACTS)  # type: ignore[arg-type]
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
    claim = NearBound(policy="a", window="as stated", low=0.8, high=1.2, **FACTS)  # type: ignore[arg-type]
    assert outcome(claim, bound=5.0, a=logarithmic(5.5)) == "holds"
    assert outcome(claim, bound=5.0, a=logarithmic(7.0)) == "fails"
    assert outcome(claim, bound=5.0, a=logarithmic(3.0)) == "fails"
    assert outcome(claim, bound=5.0, a=logarithmic(6.0, 6, 20.0)) == "undecided"


@pytest.mark.parametrize(
    ("window", "bad", "runs", "expected"),
    [
        ("some", 10, 1000, "holds"),
        ("some", 0, 20_000, "fails"),
        ("some", 0, 1000, "undecided"),
        ("few", 0, 1000, "holds"),
        ("few", 200, 1000, "fails"),
        ("few", 0, 10, "undecided"),
    ],
)
def test_tail_holds_fails_and_is_undecided(window: str, bad: int, runs: int, expected: str) -> None:
    claim = Tail(policy="a", settled=SETTLED, window=window, **FACTS)  # type: ignore[arg-type]
    rates = np.where(np.arange(runs) < bad, 0.03, 0.01)
    assert outcome(claim, a=result(rates[:, None] * T)) == expected


@pytest.mark.parametrize(
    ("light", "heavy", "both", "expected"),
    [(0, 20, 5, "holds"), (20, 0, 5, "fails"), (4, 6, 50, "undecided"), (0, 0, 0, "undecided")],
)
def test_tail_order(light: int, heavy: int, both: int, expected: str) -> None:
    """Only runs that tell the two policies apart count."""
    claim = TailOrder(policies=("a", "b"), settled=SETTLED, **FACTS)  # type: ignore[arg-type]
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
    rows = [
        ParameterRow(n_items=2, lowest=0.3, highest=0.4),
        ParameterRow(n_items=3, lowest=0.1, highest=0.5),
    ]
    claim = Parameters(decimals=3, rows=rows, **FACTS)  # type: ignore[arg-type]
    assert judge(claim, Evidence({}, models)).outcome == "holds"
    assert judge(claim, Evidence({}, {"q1": models["q1"]})).outcome == "fails"
    wrong = [rows[0], ParameterRow(n_items=3, lowest=0.2, highest=0.5)]
    verdict = judge(Parameters(decimals=3, rows=wrong, **FACTS), Evidence({}, models))  # type: ignore[arg-type]
    assert verdict.outcome == "fails"
    assert "1 of 2 rows" in verdict.measured
    assert "0.2 to 0.5" in verdict.measured
    assert "0.1 to 0.5" in verdict.measured


def test_without_runs_nothing_is_decided() -> None:
    claim = Order(policies=["a", "b"], **FACTS)  # type: ignore[arg-type]
    one = logarithmic(1.0, runs=1)
    assert judge(claim, Evidence({}, {}))[:2] == ("undecided", "a: no pass has finished")
    several = Evidence({"a": one, "b": one}, {}, pass_size=2)
    assert judge(claim, several)[:2] == ("undecided", "a: no pass has finished")
    for n in (1, 2, 3):  # no interval is finite yet, whatever the difference
        few = {"a": logarithmic(1.0, runs=n), "b": logarithmic(100.0, runs=n)}
        verdict = judge(claim, Evidence(few, {}))
        assert verdict.outcome == "undecided"
        assert [found.curves for found in verdict.open_comparisons] == [("a", "b")]


# Claims of later papers.


@pytest.mark.parametrize(
    ("slope", "decision"), [(1.0, "holds"), (20.0, "fails"), (99 / math.log(1000), "undecided")]
)
@pytest.mark.parametrize("paper_rounds", [1000, 1001])
@pytest.mark.parametrize("rounds", [None, 1000, 1001])
def test_a_verdict_on_fewer_rounds_than_the_claim_speaks_of_is_so_far(
    slope: float, decision: str, paper_rounds: int, rounds: int | None
) -> None:
    """One rule for what holds and for what fails: the paper's horizon, or the claim's rounds."""
    claim = Value(policy="a", window="as stated", high=99.0, rounds=rounds, **FACTS)  # type: ignore[arg-type]
    verdict = judge(claim, Evidence({"a": logarithmic(slope)}, {}, paper_rounds=paper_rounds))
    short = (rounds or paper_rounds) > 1000
    assert (verdict.outcome, verdict.so_far) == (decision, short)
    assert verdict.words == (f"{decision} so far" if short else decision)


@pytest.mark.parametrize(
    ("value", "so_far", "at_the_end"),
    [(9000.0, "undecided", "fails"), (10.0, "fails", "fails"), (40.0, "holds", "holds")],
)
def test_regret_below_a_value_may_still_reach_it(
    value: float, so_far: str, at_the_end: str
) -> None:
    """Regret never falls: on a shorter run, too little of it says nothing, too much says all."""
    claim = Value(policy="a", window="about", value=value, **FACTS)  # type: ignore[arg-type]
    results = {"a": logarithmic(40 / math.log(1000))}
    assert judge(claim, Evidence(results, {}, paper_rounds=10**7)).outcome == so_far
    assert judge(claim, Evidence(results, {}, paper_rounds=1000)).outcome == at_the_end


def test_regret_that_still_grows_may_stop_later() -> None:
    claim = Growth(policy="a", shape="stopped", **FACTS)  # type: ignore[arg-type]
    results = {"a": linear(0.1, 5)}
    assert judge(claim, Evidence(results, {}, paper_rounds=10**7)).words == "undecided so far"
    assert judge(claim, Evidence(results, {}, paper_rounds=1000)).words == "fails"


def test_a_claim_that_names_its_rounds_is_judged_there() -> None:
    late = result(np.tile(np.where(T > 200, 500.0, 1.0), (5, 1)))
    evidence = Evidence({"a": late}, {}, paper_rounds=1000)
    claim = Value(policy="a", window="as stated", high=99.0, **FACTS)  # type: ignore[arg-type]
    assert judge(claim, evidence).outcome == "fails"
    verdict = judge(msgspec.structs.replace(claim, rounds=300), evidence)
    assert (verdict.words, "at round 200" in verdict.measured) == ("holds", True)


def test_what_speaks_of_no_rounds_is_never_so_far() -> None:
    facts = {**FACTS, "file": "kdd2012-pbm.json", "parameter": "attraction", "decimals": 3}
    claim = Range(lowest=0.004, highest=0.149, **facts)  # type: ignore[arg-type]
    evidence = Evidence({}, {}, paper_rounds=1000)
    assert rounds_of(claim, evidence) is None
    assert not judge(claim, evidence).so_far


def test_ratio_holds_fails_and_is_undecided() -> None:
    claim = Ratio(policies=("a", "b"), window="about", value=0.5, **FACTS)  # type: ignore[arg-type]
    b = logarithmic(20.0)
    assert outcome(claim, a=logarithmic(10.0), b=b) == "holds"
    assert outcome(claim, a=logarithmic(16.0), b=b) == "fails"
    assert outcome(claim, a=logarithmic(4.0), b=b) == "fails"
    assert outcome(claim, a=logarithmic(10.0, 5, 30.0, users=1), b=logarithmic(20.0, 5)) == (
        "undecided"
    )
    open_ended = Ratio(policies=("a", "b"), window="less", value=0.6, **FACTS)  # type: ignore[arg-type]
    assert outcome(open_ended, a=logarithmic(4.0), b=b) == "holds"


def test_value_holds_fails_and_is_undecided() -> None:
    claim = Value(policy="a", window="rounds to", value=30.0, digits=1, **FACTS)  # type: ignore[arg-type]
    assert outcome(claim, a=logarithmic(30 / math.log(1000))) == "holds"
    assert outcome(claim, a=logarithmic(50 / math.log(1000))) == "fails"
    assert outcome(claim, a=logarithmic(10 / math.log(1000))) == "fails"
    assert outcome(claim, a=logarithmic(35 / math.log(1000), 6, 20.0)) == "undecided"


@pytest.mark.parametrize(
    ("power", "logarithmic_says", "linear_says"),
    [(0.0, "holds", "fails"), (0.3, "holds", "fails"), (0.7, "fails", "holds"),
     (1.0, "fails", "holds")],
)  # fmt: skip
def test_growth_tells_logarithmic_from_linear(
    power: float, logarithmic_says: str, linear_says: str
) -> None:
    """Neither has stopped."""
    curve = np.log(T) if power == 0 else T**power
    runs = result(np.outer(np.linspace(0.9, 1.1, 20), curve))
    says = (("logarithmic", logarithmic_says), ("linear", linear_says), ("stopped", "fails"))
    for shape, expected in says:
        claim = Growth(policy="a", shape=shape, **FACTS)  # type: ignore[arg-type]
        assert outcome(claim, a=runs) == expected


def test_growth_of_regret_that_stopped_never_began_or_varies() -> None:
    claim = Growth(policy="a", shape="logarithmic", **FACTS)  # type: ignore[arg-type]
    stopped = np.minimum(T, 100).astype(float)
    assert outcome(claim, a=result(np.tile(stopped, (5, 1)))) == "holds"
    ended = Growth(policy="a", shape="stopped", **FACTS)  # type: ignore[arg-type]
    assert outcome(ended, a=result(np.tile(stopped, (5, 1)))) == "holds"
    late = np.maximum(T - 100, 0).astype(float)
    assert outcome(claim, a=result(np.tile(late, (5, 1)))) == "undecided"
    rng = np.random.default_rng(0)
    rough = result(10 * np.log(T) + 10 * rng.standard_normal((5, T.size)))
    assert outcome(claim, a=rough) == "undecided"


def test_catch_up_needs_both_halves() -> None:
    claim = CatchUp(policies=("a", "b"), share=0.5, window="not much more", **FACTS)  # type: ignore[arg-type]
    noise = np.linspace(-1, 1, 30)[:, None]
    steady = result(100.0 + 0.2 * T + noise)  # 200 at T/2, 300 at T
    late = result(np.array([0, 0, 0, 0, 300.0, 310.0]) + noise)
    assert outcome(claim, a=late, b=steady) == "holds"
    assert outcome(claim, a=steady, b=late) == "fails"  # never behind
    assert outcome(claim, a=result(2 * steady.regret), b=steady) == "fails"  # never catches up
    rough = result(late.regret + 400 * np.random.default_rng(0).standard_normal((30, 1)))
    assert outcome(claim, a=rough, b=steady) == "undecided"
    strangers = result(late.regret[:2], [98, 99])
    assert judge(claim, Evidence({"a": strangers, "b": steady}, {})).outcome == "undecided"


def test_catching_up_later_than_the_run_ends_is_undecided() -> None:
    """The share is one of the claim's rounds, not of as many as were simulated."""
    claim = CatchUp(policies=("a", "b"), share=0.4, window="not much more", **FACTS)  # type: ignore[arg-type]
    noise = np.linspace(-1, 1, 30)[:, None]
    ahead, behind = result(100.0 + 0.2 * T + noise), result(300.0 + 0.6 * T + noise)

    def so_far(rounds: int, **results: Result) -> str:
        return judge(claim, Evidence(results, {}, paper_rounds=rounds)).words

    assert so_far(10_000, a=behind, b=ahead) == "undecided so far"  # up to round 4,000
    assert so_far(10_000, a=ahead, b=behind) == "fails so far"  # not behind at first
    assert so_far(2_000, a=behind, b=ahead) == "undecided so far"  # 1,000 rounds to catch up in
    assert so_far(1_000, a=behind, b=ahead) == "fails"
    late = result(np.array([0, 0, 0, 0, 300.0, 310.0]) + noise)
    claim = msgspec.structs.replace(claim, share=0.25)
    assert so_far(2_000, a=late, b=ahead) == "holds so far"
    assert so_far(1_000, a=late, b=ahead) == "fails"  # not behind at round 250


def test_near_best_compares_with_every_other_curve() -> None:
    claim = NearBest(policies=["a"], window="not much more", **FACTS)  # type: ignore[arg-type]
    a, near, far = logarithmic(10.0), logarithmic(8.0), logarithmic(5.0)
    assert outcome(claim, a=a, b=logarithmic(20.0)) == "holds"
    assert outcome(claim, a=a, b=near) == "holds"
    assert outcome(claim, a=a, b=near, c=far) == "fails"
    assert outcome(claim, a=logarithmic(10.0, 5, 30.0), b=logarithmic(9.0, 5, 1.0)) == "undecided"
    assert outcome(claim, a=a) == "undecided"
    both = NearBest(policies=["a", "b"], window="not much more", **FACTS)  # type: ignore[arg-type]
    assert outcome(both, a=a, b=near) == "holds"
    assert outcome(both, a=a, b=far) == "fails"  # they are compared with each other, too


def test_rank_counts_those_better_and_worse_with_confidence() -> None:
    claim = Rank(policy="a", among=["a", "b", "c"], first=2, last=2, **FACTS)  # type: ignore[arg-type]
    low, middle, high = (logarithmic(s) for s in (1.0, 2.0, 3.0))
    assert outcome(claim, a=middle, b=low, c=high) == "holds"
    assert outcome(claim, a=low, b=middle, c=high) == "fails"
    assert outcome(claim, a=high, b=middle, c=low, other=low) == "fails"
    noisy = logarithmic(1.0, runs=5, noise=9.0, users=1)
    assert outcome(claim, a=noisy, b=low, c=middle) == "undecided"
    strangers = result(np.ones((2, 6)), [998, 999])
    assert judge(claim, Evidence({"a": low, "b": low, "c": strangers}, {})).outcome == "undecided"


def test_one_of_several_ratios_is_enough() -> None:
    claim = AnyRatio(policies=["b", "c"], than="a", window="not much more", **FACTS)  # type: ignore[arg-type]
    a, near, far = logarithmic(10.0), logarithmic(12.0), logarithmic(30.0)
    assert outcome(claim, a=a, b=far, c=near) == "holds"
    assert outcome(claim, a=a, b=far, c=far) == "fails"
    noisy = logarithmic(14.0, 4, 30.0, users=2)
    assert outcome(claim, a=a, b=far, c=noisy) == "undecided"


def test_a_ratio_to_another_figure_needs_its_results() -> None:
    claim = PanelRatio(policy="a", over="g", window="about", value=2.0, **FACTS)  # type: ignore[arg-type]
    here = Evidence({"a": logarithmic(20.0)}, {})
    assert judge(claim, here).outcome == "undecided"
    for slope, expected in ((10.0, "holds"), (20.0, "fails"), (14.1, "undecided")):
        there = {"g": {"a": logarithmic(slope, 10, 3.0, users=4)}}
        assert judge(claim, here._replace(elsewhere=there)).outcome == expected
    longer = dataclasses.replace(logarithmic(10.0), checkpoints=2 * T)
    assert judge(claim, here._replace(elsewhere={"g": {"a": longer}})).outcome == "undecided"


def test_the_smallest_of_equal_means_is_not_called_the_best() -> None:
    """20 curves of the same mean: whichever is smallest is so by luck."""
    claim = NearBest(policies=["a"], window="less", **FACTS)  # type: ignore[arg-type]
    curves = {str(i): logarithmic(10.0, runs=20, users=i) for i in range(20)}
    best = min(curves, key=lambda c: float(curves[c].regret[:, -1].mean()))
    curves["a"] = curves.pop(best)
    assert outcome_of(claim, curves) == "undecided"


def test_no_spread_is_found_in_a_grid_of_equal_means() -> None:
    """The largest mean of many is larger than the smallest by luck alone."""
    claim = Spread(window="more", **FACTS)  # type: ignore[arg-type]
    cells = {f"{x}{y}": (float(x), float(y)) for x in range(8) for y in range(8)}
    results = {c: logarithmic(3.0, runs=10, users=i) for i, c in enumerate(cells)}
    assert judge(claim, Evidence(results, {}, grid=cells)).outcome == "undecided"


def test_spread_is_along_both_axes_of_the_grid() -> None:
    claim = Spread(window="much more", **FACTS)  # type: ignore[arg-type]
    slopes = {"xy": 10.0, "Xy": 50.0, "xY": 20.0, "XY": 60.0, "out": 1.0}
    grid = {"xy": (0.0, 0.0), "Xy": (1.0, 0.0), "xY": (0.0, 1.0), "XY": (1.0, 1.0)}

    def found(**other: float) -> str:
        results = {name: logarithmic(s) for name, s in {**slopes, **other}.items()}
        return judge(claim, Evidence(results, {}, grid=grid)).outcome

    assert found() == "fails"  # y hardly matters
    assert found(xY=50.0) == "holds"
    assert found(xY=31.6) == "undecided"
    # Along x all cells count, not only the one of the largest mean.
    results = {name: logarithmic(s) for name, s in {**slopes, "xY": 50.0, "Xy": 12.0}.items()}
    results["X2"] = logarithmic(11.9, 5, 60.0, users=3)
    wide = Evidence(results, {}, grid={**grid, "X2": (2.0, 0.0)})
    assert judge(claim, wide).outcome == "undecided"
    one = Evidence({"xy": logarithmic(1.0)}, {}, grid=grid)
    assert judge(claim, one).outcome == "undecided"


def swept(*slopes: float, upper: tuple[float, ...] = (), noise: float = 1.0) -> Evidence:
    """Return a sweep of which each place has regret slope·log t, about, by users of its own."""
    sweep = Sweep(label="γ", points=[Point(place=i, alpha=1, beta=1) for i in range(len(slopes))])
    curves = [sweep.curve("a", i) for i in range(len(slopes))]
    results = {
        curve: logarithmic(slope, noise=noise, users=i)
        for i, (curve, slope) in enumerate(zip(curves, slopes, strict=True))
    }
    return Evidence(
        results, {}, upper=dict(zip(curves, upper, strict=False)), sweep=sweep
    )  # fmt: skip


def test_regret_falls_from_place_to_place() -> None:
    claim = Falls(policies=["a"], **FACTS)  # type: ignore[arg-type]
    assert judge(claim, swept(9.0, 6.0, 3.0)).outcome == "holds"
    assert judge(claim, swept(9.0, 3.0, 6.0)).outcome == "fails"
    assert judge(claim, swept(9.0, 6.0, 5.9, noise=20.0)).outcome == "undecided"
    missing = swept(9.0, 6.0)
    results = {k: v for k, v in missing.results.items() if not k.endswith("1")}
    verdict = judge(claim, missing._replace(results=results))
    assert verdict[:2] == ("undecided", "a γ=1: no pass has finished")


def test_regret_is_level_along_a_sweep() -> None:
    """Every place is compared with the first, and one outside the window is enough to fail."""
    claim = Level(policies=["a"], window="similar", **FACTS)  # type: ignore[arg-type]
    assert judge(claim, swept(9.0, 8.0, 10.0)).outcome == "holds"
    assert judge(claim, swept(9.0, 30.0, 10.0)).outcome == "fails"
    assert judge(claim, swept(9.0, 8.0, 3.0)).outcome == "fails"
    assert judge(claim, swept(9.0, 12.7, noise=20.0)).outcome == "undecided"
    assert judge(claim, swept(9.0, 0.0, noise=0.0)).outcome == "undecided"
    grows = Level(policies=["a"], window="not much more", **FACTS)  # type: ignore[arg-type]
    assert judge(grows, swept(9.0, 8.0, 3.0)).outcome == "holds"


def test_the_bound_is_so_many_times_the_regret_at_every_place() -> None:
    at_end = math.log(T[-1])
    claim = BoundRatio(policies=["a"], window="as stated", low=1.0, high=10.0, **FACTS)  # type: ignore[arg-type]
    near = (45.0 * at_end, 12.0 * at_end)
    assert judge(claim, swept(9.0, 6.0, upper=near)).outcome == "holds"
    assert judge(claim, swept(9.0, 6.0, upper=(45.0 * at_end, 66.0 * at_end))).outcome == "fails"
    assert judge(claim, swept(9.0, 6.0, upper=(45.0 * at_end, 5.0 * at_end))).outcome == "fails"
    close = swept(9.0, 6.0, upper=(45.0 * at_end, 60.0 * at_end), noise=20.0)
    assert judge(claim, close).outcome == "undecided"


def test_a_bound_loosens_from_end_to_end() -> None:
    claim = BoundFollows(policies=["a"], window="more", **FACTS)  # type: ignore[arg-type]
    assert judge(claim, swept(9.0, 1.0, 6.0, upper=(90.0, 90.0, 90.0))).outcome == "holds"
    assert judge(claim, swept(9.0, 9.0, 6.0, upper=(90.0, 99.0, 30.0))).outcome == "fails"
    even = swept(9.0, 9.0, upper=(90.0, 90.0), noise=20.0)
    assert judge(claim, even).outcome == "undecided"
    alike = BoundFollows(policies=["a"], window="similar", **FACTS)  # type: ignore[arg-type]
    assert judge(alike, swept(9.0, 3.0, upper=(90.0, 33.0))).outcome == "holds"
    assert judge(alike, swept(9.0, 3.0, upper=(90.0, 60.0))).outcome == "fails"


def test_a_curve_flattens_if_its_last_half_adds_less() -> None:
    claim = Flattens(policy="a", **FACTS)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((200, 1))
    assert outcome(claim, a=result(T**0.25 * (3.0 + 0.1 * noise))) == "holds"
    assert outcome(claim, a=result(T**0.75 * (3.0 + 0.1 * noise))) == "fails"
    late = np.where(T > 500, 1.0, 0.0) * rng.standard_normal((200, 1)) * 10.0
    assert outcome(claim, a=result(np.sqrt(T) + late)) == "undecided"
    assert outcome(claim, a=result(np.zeros((5, T.size)))) == "undecided"


def test_ranges_are_those_of_the_file() -> None:
    facts = {**FACTS, "file": "kdd2012-pbm.json", "parameter": "attraction", "decimals": 3}
    claim = Range(lowest=0.004, highest=0.149, **facts)  # type: ignore[arg-type]
    assert judge(claim, Evidence({}, {})).outcome == "holds"
    wrong = Range(lowest=0.003, highest=0.149, **facts)  # type: ignore[arg-type]
    verdict = judge(wrong, Evidence({}, {}))
    assert verdict[:2] == (
        "fails", "attraction ranges from 0.004 to 0.149; in the paper from 0.003 to 0.149"
    )  # fmt: skip


def test_times_are_shown_and_not_judged() -> None:
    claim = TimeRatio(policies=("a", "b"), **FACTS)  # type: ignore[arg-type]
    one = logarithmic(1.0)
    results = {"a": dataclasses.replace(one, seconds=2.0), "b": one}
    evidence = Evidence(results, {}, paper_rounds=10**7, paper_milliseconds={"a": 9.0, "b": 3.0})
    verdict = judge(claim, evidence)
    assert verdict.words == "history"
    assert "9 ms / 3 ms, 3.0 times; here 10.00 µs / 5.00 µs, 2.0 times" in verdict.measured
    assert "3.0 times" in judge(claim, evidence._replace(results={})).measured
    quick = evidence._replace(paper_milliseconds={"a": 0.4, "b": 11.0})
    assert "0.4 ms / 11 ms, 0.036 times; here" in judge(claim, quick).measured


def test_policies_are_compared_where_the_first_of_them_stops() -> None:
    claim = Order(policies=["a", "b"], **FACTS)  # type: ignore[arg-type]
    long = logarithmic(2.0)
    short = dataclasses.replace(
        logarithmic(2.5), checkpoints=T[:3], regret=logarithmic(2.5).regret[:, :3]
    )
    # At the end the long run has lost more than the short one had at round 100, when it stopped.
    assert long.regret[:, -1].mean() > short.regret[:, -1].mean()
    assert outcome(claim, a=long, b=short) == "holds"
    assert outcome(claim, a=short, b=long) == "fails"


# Passes, levels, and what an open claim waits for.


def spread_out(mean: float, runs: int, deviation: float, seed: int = 0) -> Result:
    """Return runs whose regret at the end is normal."""
    end = mean + deviation * np.random.default_rng(seed).standard_normal(runs)
    return result(end[:, None] * np.linspace(0.1, 1.0, 6)[None, :])


def test_values_are_means_over_passes() -> None:
    """A difference between queries is not a difference between passes."""
    claim = Value(policy="a", window="as stated", low=4.0, high=6.0, **FACTS)  # type: ignore[arg-type]
    by_query = np.tile([0.0, 10.0], 10) + 0.01 * np.random.default_rng(0).standard_normal(20)
    runs = result(by_query[:, None] * np.ones(6))
    assert judge(claim, Evidence({"a": runs}, {}, pass_size=2)).outcome == "holds"
    assert judge(claim, Evidence({"a": runs}, {}, pass_size=1)).outcome == "undecided"


def test_claims_of_one_figure_share_the_level() -> None:
    """A claim among many needs more evidence than one alone."""
    claim = Value(policy="a", window="as stated", low=0.0, high=6.0, **FACTS)  # type: ignore[arg-type]
    runs = spread_out(5.0, 12, 0.62)
    assert judge(claim, Evidence({"a": runs}, {}, level=0.9)).outcome == "holds"
    assert judge(claim, Evidence({"a": runs}, {}, level=0.9999)).outcome == "undecided"


def test_an_open_claim_says_how_many_passes_it_would_take() -> None:
    """If mean and spread stay, the prediction is right up to its steps of a tenth.

    The variance of the first ten values is 10/9, so that the prediction is 10/9 · 1.1 at most.
    """
    claim = Value(policy="a", window="as stated", low=0.0, high=5.5, **FACTS)  # type: ignore[arg-type]
    everything = result(np.tile([4.0, 6.0], 500)[:, None] * np.ones(6))

    def verdict_after(n: int) -> ClaimVerdict:
        some = dataclasses.replace(
            everything, regret=everything.regret[:n], run_ids=everything.run_ids[:n]
        )
        return judge(claim, Evidence({"a": some}, {}))

    needed = verdict_after(10).needed_passes
    decided = next(n for n in range(10, 1000, 2) if verdict_after(n).outcome == "holds")
    assert decided <= needed <= 10 / 9 * 1.1 * decided + 1
    assert verdict_after(decided).open_comparisons == []


def test_a_decided_pair_waits_for_no_more_runs() -> None:
    """Of several comparisons, only the curves of the open ones need more runs."""
    claim = Order(policies=["a", "b", "c"], **FACTS)  # type: ignore[arg-type]
    results = {
        "a": spread_out(1.0, 10, 0.1, 1),
        "b": spread_out(9.0, 10, 0.1, 2),
        "c": spread_out(9.1, 10, 0.5, 3),
    }
    verdict = judge(claim, Evidence(results, {}))
    assert verdict.outcome == "undecided"
    assert {c for found in verdict.open_comparisons for c in found.curves} == {"b", "c"}
