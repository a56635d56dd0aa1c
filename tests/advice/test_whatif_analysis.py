"""`whatif` finds what there is to gain on a log, says when there is nothing, and what it costs."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import clickrank as cr
from clickrank._core.arrays import Ints
from clickrank.advice import play as earnings
from clickrank.advice.advice_report import whatif_page
from clickrank.advice.advice_tables import remarks, without
from clickrank.advice.diagnosis import diagnose
from clickrank.advice.held_out_scores import fitted
from clickrank.advice.play import Plan, equals, grouped, players
from clickrank.advice.played_queries import (
    Protocol,
    clicks_per_list,
    cut,
    list_values,
    prepare,
    today_value,
)
from clickrank.advice.whatif_analysis import WhatIf, recommended, whatif
from clickrank.cli.app import app
from clickrank.errors import DoesNotApply, InvalidValue, UnknownName
from clickrank.fit import FITS
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import NOTHING, cells_of
from clickrank.stats.intervals import MeanInterval
from tests.clicks import ATTRACTION, EXAMINATION, drawn_clicks, lists_near, log_of

TRUTH = cr.clickmodels.PBM(ATTRACTION, EXAMINATION)
POOR = np.array([3, 5, 2, 4, 0, 1])
PLAN = Plan(horizon=3_000, runs=6, progress=False)
FEW = ("thompson", "uniform")


def pbm_log(order: Ints, noise: float, n: int = 6_000, seed: int = 0, query: str = "") -> Counts:
    rng = np.random.default_rng(seed)
    lists = lists_near(order, n, rng, noise)
    return Counts.of_lists(lists, drawn_clicks("pbm", lists, rng), query=query)


def value_of_lists(counts: Counts) -> float:
    assert counts.sessions is not None
    values = [TRUTH.value(shown) for shown in counts.sessions.items.astype(np.int64)]
    return float(np.array(values) @ counts.sessions.times / counts.n_impressions)


@pytest.fixture(scope="module")
def poor() -> WhatIf:
    return whatif(pbm_log(POOR, 1.5), policies=FEW, models=["dctr", "pbm"], plan=PLAN)


def test_a_poor_order_is_beaten_in_truth_as_foretold(poor: WhatIf) -> None:
    [outcome] = poor.outcomes
    best = outcome.played.earnings[0]
    assert best.name == "thompson"
    assert poor.recommendation()[0].startswith("Use thompson: +")
    # What was predicted from the log alone, against the model that made it.
    today = value_of_lists(poor.diagnosis.counts)
    assert outcome.group.today == pytest.approx(today, rel=0.03)
    made = cr.policy("thompson", model=TRUTH)
    regret = cr.simulate(made, TRUTH, PLAN.horizon, 20, seed=9, progress=False).regret[:, -1]
    gain = TRUTH.best_value() - float(regret.mean()) / PLAN.horizon - today
    assert gain > 0.2
    assert best.gain.low < gain < best.gain.high
    room = outcome.group.headroom
    assert room.low < TRUTH.best_value() - today < room.high


def test_learning_costs_at_first(poor: WhatIf) -> None:
    [outcome] = poor.outcomes
    by_name = {e.name: e for e in outcome.played.earnings}
    learner, uniform = by_name["thompson"], by_name["uniform"]
    assert learner.overtakes is not None
    assert learner.cost == pytest.approx(max(0.0, -learner.curve.min()))
    assert learner.curve[-1] == pytest.approx(learner.gain.mean * PLAN.horizon)
    assert equals(outcome.played.earnings, outcome.group.today) == [learner]
    # Uniform lists earn their mean value in every round, which needs no simulation to know.
    [query] = outcome.group.queries
    flat = query.model.attraction.mean() * query.model.examination.sum()  # type: ignore[attr-defined]
    expected = flat - query.best + query.headroom
    assert uniform.gain.mean == pytest.approx(expected, abs=0.02)


def test_nothing_to_gain_where_todays_order_is_the_best() -> None:
    counts = pbm_log(np.arange(6), 0.35, seed=1)
    found = whatif(counts, policies=["thompson"], models=["pbm"], plan=PLAN)
    said = found.recommendation()
    assert said[0].startswith("Keep today's order: the log does not show that any list is better.")
    assert "Learning would cost" in said[1]
    [outcome] = found.outcomes
    assert outcome.group.headroom.low <= 0.0
    assert outcome.played.earnings[0].gain.mean < outcome.group.headroom.mean


def test_what_cannot_be_learned_in_time_is_said() -> None:
    counts = pbm_log(np.array([1, 0, 3, 2, 4, 5]), 1.0)
    plan = PLAN._replace(horizon=30, runs=3)
    short = whatif(counts, policies=["thompson"], models=["pbm"], plan=plan)
    assert "no policy earns significantly more" in short.recommendation()[0]


def test_an_order_that_never_changes_is_refused() -> None:
    with pytest.raises(DoesNotApply, match="only 0 displays separate the effect of position"):
        whatif(pbm_log(np.arange(6), 0.0), policies=["uniform"], models=["pbm"], plan=PLAN)


def test_what_never_learns_is_not_recommended(poor: WhatIf) -> None:
    """Even where any lists would be better than today's."""
    [outcome] = poor.outcomes
    assert {e.name: e.gain.low > 0 for e in outcome.played.earnings}["uniform"]
    assert not any("Use uniform" in sentence for sentence in poor.recommendation())


def test_the_best_list_of_noise_is_not_believed() -> None:
    """Of items that are all alike, seen a few times each, the best seem better, and are not."""
    rng = np.random.default_rng(0)
    lists = lists_near(np.arange(12), 600, rng, 8.0)
    clicks = drawn_clicks("dctr", lists, rng, np.full(12, 0.2))
    protocol = Protocol(min_shown=20, resamples=40)
    found = prepare(Counts.of_lists(lists, clicks), ["dctr"], "dctr", protocol, 0.25, 0)
    claim = found.best - found.today.value
    assert claim > 0.05
    assert found.optimism > 0.5 * claim
    assert found.headroom < 2 * found.error


def test_today_is_valued_as_the_log_has_it() -> None:
    counts = pbm_log(POOR, 1.0, n=500)
    fit = fitted("pbm", counts)
    model = fit.model()
    assert counts.sessions is not None
    rows = [
        (model.value(s), t)
        for s, t in zip(counts.sessions.items.astype(int), counts.sessions.times, strict=True)
    ]
    assert today_value(fit, 4) == pytest.approx(sum(v * t for v, t in rows) / 500, rel=1e-12)
    shorter = sum(
        cut(model, 2).value(s[:2]) * t
        for s, t in zip(counts.sessions.items.astype(int), counts.sessions.times, strict=True)
    )
    assert today_value(fit, 2) == pytest.approx(shorter / 500, rel=1e-12)
    assert clicks_per_list(counts, 4) == counts.cells.clicked.sum() / 500
    # Without lists: the same, as clicks at positions are independent.
    flat = Counts(**{**counts.__dict__, "sessions": None})
    assert today_value(fitted("pbm", flat), 4) == pytest.approx(today_value(fit, 4), rel=1e-9)
    assert clicks_per_list(flat, 4) == pytest.approx(clicks_per_list(counts, 4))


@pytest.mark.parametrize("model", sorted(FITS))
def test_every_model_is_cut_and_values_todays_lists(model: str) -> None:
    counts = log_of(model, 3_000)
    full = fitted(model, counts).model()
    page = cut(full, 2, np.array([3, 1, 0]))
    assert (page.n_items, page.n_positions) == (3, 2)
    assert page.value([1, 2]) == pytest.approx(cut(full, 2).value([1, 0]), rel=1e-12)
    lists = np.array([[3, 1, 0], [5, 2, 4], [0, 1, NOTHING], [2, NOTHING, NOTHING]])
    by_model = [cut(full, k).value(row[:k]) for row, k in zip(lists, (3, 3, 2, 1), strict=True)]
    assert list_values(fitted(model, counts), lists) == pytest.approx(by_model, rel=1e-12)
    found = prepare(counts, [model], model, Protocol(positions=3, resamples=3), 0.25, 0)
    assert found.model.n_positions == 3
    assert found.seen == 3
    assert found.best > found.today.value
    assert 0.0 < found.error < 0.1
    if found.model.reward != "satisfaction" and model != "mnl":
        # What is shown below does not matter to the first three positions, but to a choice.
        # Clicks vary no more than counts of rare events would: four standard errors.
        error = 4.0 * np.sqrt(found.today.clicks / 3_000)
        assert found.today.value == pytest.approx(found.today.clicks, abs=error)


def test_short_lists_are_not_taken_for_a_poor_order() -> None:
    """The best list in truth, cut at random: nothing is to be gained but by longer lists."""
    rng = np.random.default_rng(3)
    lists = lists_near(np.arange(6), 6_000, rng, 0.5)
    clicks = drawn_clicks("pbm", lists, rng)
    cut_off = np.arange(4) >= rng.choice([1, 2, 3, 4, 4], 6_000)[:, None]
    lists[cut_off], clicks[cut_off] = NOTHING, 0
    counts = Counts.of_lists(lists, clicks)
    found = prepare(counts, ["pbm"], "pbm", Protocol(resamples=10), 0.25, 0)
    assert found.model.n_positions == 3  # three of five lists have as many, two have four
    assert found.today.shorter == int((cut_off[:, 2]).sum())
    assert abs(found.headroom) < max(3 * found.error, 0.05 * found.today.value)
    assert found.today.clicks == pytest.approx(clicks[~cut_off[:, 2], :3].sum(axis=1).mean())
    with pytest.raises(DoesNotApply, match="are needed"):
        prepare(counts, ["pbm"], "pbm", Protocol(min_shown=3_500, resamples=3, items=2), 0.25, 0)


def test_a_query_keeps_the_model_of_the_whole_log_unless_it_is_beaten() -> None:
    """A hundred lists rule nothing out: standard errors from that few clicks mean nothing."""
    logs = [pbm_log(POOR, 1.5, n=120, seed=seed) for seed in range(10)]
    for counts in logs:
        protocol = Protocol(min_shown=20, resamples=2)
        assert prepare(counts, ["pbm", "ubm"], "pbm", protocol, 0.25, 0).fit == "pbm"
    cells = logs[0].cells
    none = dataclasses.replace(cells, clicked=np.zeros_like(cells.clicked))
    silent = dataclasses.replace(logs[0], cells=none, sessions=None)
    with pytest.raises(DoesNotApply, match="its lists have no clicks"):
        prepare(silent, ["pbm"], "pbm", Protocol(), 0.25, 0)


def test_policies_that_do_not_apply_are_told_with_the_reason(poor: WhatIf) -> None:
    [group] = [outcome.group for outcome in poor.outcomes]
    field, skipped = players(group, None, 100)
    assert {"thompson", "pb-mhb", "bubblerank", "uniform"} <= {p.name for p in field}
    assert "oracle" not in {*skipped, *(p.name for p in field)}
    assert "it assumes cascade clicks" in skipped["cascade-kl-ucb"]
    assert "features" in skipped["recurrank"]
    told = {p.name: p.given for p in field}
    assert told["pbm-ucb"] == ("examination",)
    assert told["bubblerank"] == ("horizon", "today's order")
    assert told["pb-mhb"] == ()


def test_positions_out_of_order_are_played_and_doubted(poor: WhatIf) -> None:
    [query] = poor.outcomes[0].group.queries
    moved = cr.clickmodels.PBM(ATTRACTION, [0.9, 1.0, 0.5, 0.4])
    [group] = grouped([dataclasses.replace(query, model=moved)])
    field, _ = players(group, ["toprank", "pb-mhb", "uniform"], 100)
    doubts = {p.name: p.doubts for p in field}
    assert "examination decreases" in doubts["toprank"]
    assert "1 of 1 queries" in doubts["toprank"]
    assert doubts["pb-mhb"] == doubts["uniform"] == ""


def test_queries_of_different_models_are_told_apart(poor: WhatIf) -> None:
    [outcome] = poor.outcomes
    [query] = outcome.group.queries
    others = [dataclasses.replace(query, name=name, fit="cascade") for name in "ab"]
    groups = grouped([query, *others])
    assert [(g.fit, len(g.queries)) for g in groups] == [("cascade", 2), ("pbm", 1)]
    twice = dataclasses.replace(poor, outcomes=(outcome, outcome))
    firsts = [s for s in twice.recommendation() if "Use thompson" in s]
    assert len(firsts) == 2
    assert all(s.startswith("Query '' (pbm): Use thompson") for s in firsts)


@pytest.mark.parametrize("model", ["ubm", "dbn"])
def test_policies_that_learn_are_played_where_none_assumes_the_model(model: str) -> None:
    rng = np.random.default_rng(0)
    lists = lists_near(POOR, 4_000, rng, 1.5)
    counts = Counts.of_lists(lists, drawn_clicks(model, lists, rng))
    found = whatif(counts, policies=FEW, models=[model], plan=PLAN)
    [outcome] = found.outcomes
    assert {e.name for e in outcome.played.earnings} == set(FEW)
    assert found.recommendation()[0].startswith("Use thompson")
    assert f"clicks, not {model}" in found.recommendation()[-1]
    assert any(s.startswith("* thompson: it assumes dctr or cascade") for s in remarks(outcome))


def test_reasons_are_for_users(poor: WhatIf) -> None:
    [query] = poor.outcomes[0].group.queries
    choice = cr.clickmodels.MNL(ATTRACTION, EXAMINATION)
    [group] = grouped([dataclasses.replace(query, model=choice, fit="mnl")])
    _, skipped = players(group, ["thompson"], 100)
    assert skipped == {"thompson": "it assumes dctr or cascade or dcm or pbm clicks, not mnl"}


def test_words_follow_the_table(poor: WhatIf) -> None:
    [outcome] = poor.outcomes
    [learner] = [e for e in outcome.played.earnings if e.name == "thompson"]
    flat = learner.player._replace(name="pb-mhb", given=())
    second = learner._replace(player=flat, gain=MeanInterval(0.1, -0.1, 0.3))
    first = learner._replace(gain=MeanInterval(0.11, -0.1, 0.3))
    played = outcome.played._replace(earnings=(first, second))
    [said] = recommended(outcome._replace(played=played), 3_000)[1:]
    assert said.startswith("pb-mhb, not distinguishable from the best of the policies, thompson, ")
    unsure = outcome.group._replace(
        queries=tuple(dataclasses.replace(q, error=9.0) for q in outcome.group.queries)
    )
    said = recommended(outcome._replace(group=unsure, played=played), 3_000)[1]
    assert "Learning may not pay: pb-mhb" in said
    at_once = learner._replace(overtakes=1)
    played = outcome.played._replace(earnings=(at_once,))
    assert not any("1 lists" in s for s in recommended(outcome._replace(played=played), 3_000))
    [uniform] = [e for e in outcome.played.earnings if e.name == "uniform"]
    played = outcome.played._replace(earnings=(uniform,))
    assert "No policy that learns" in recommended(outcome._replace(played=played), 3_000)[0]


def test_no_policy_is_recommended_where_items_say_nothing(poor: WhatIf) -> None:
    sure = MeanInterval(0.0, 0.0, 0.0)  # as if click rates of positions predicted everything
    baseline = dataclasses.replace(poor.diagnosis.baseline, log_likelihood=sure)
    found = dataclasses.replace(
        poor, diagnosis=dataclasses.replace(poor.diagnosis, baseline=baseline)
    )
    assert "says nothing reliable" in found.diagnosis.verdict()[0]
    [said] = found.recommendation()
    assert said.startswith("Keep today's order")


def test_each_reason_is_told_once() -> None:
    counts = dataclasses.replace(pbm_log(POOR, 1.5, n=600), sessions=None)
    assert len(without(diagnose(counts).left_out)) == 1


def write_log(path: Path, counts: Counts) -> None:
    lines = ["impression_id,query,position,item,click"]
    assert counts.sessions is not None
    number = 0
    for items, clicks, times in zip(*counts.sessions.__dict__.values(), strict=True):
        for _ in range(times):
            number += 1
            lines += [
                f"{number},tea,{k + 1},{counts.pair_item[i]},{c}"
                for k, (i, c) in enumerate(zip(items, clicks, strict=True))
            ]
    path.write_text("\n".join(lines) + "\n")


OPTIONS = ["--policies", "thompson,uniform", "--horizon", "1e3", "--runs", "3", "--resamples", "5"]


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done


def test_commands_on_a_log_of_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "log.csv", pbm_log(POOR, 1.5, n=1_500))
    out = run("diagnose", "log.csv", "--out", "diagnosis.html", "--plot", "diagnosis.png")
    assert "pbm" in out.stdout
    assert "Best click model" in out.stdout
    assert (tmp_path / "diagnosis.png").stat().st_size > 1_000
    check_page(tmp_path / "diagnosis.html", "How people click")
    out = run("whatif", "log.csv", *OPTIONS, "--models", "pbm", "--plot", "earned.svg")
    assert "Recommendation" in out.stdout
    assert "Use thompson" in out.stdout
    assert (tmp_path / "earned.svg").stat().st_size > 1_000
    check_page(tmp_path / "whatif" / "index.html", "What to do")
    # Nothing is left to simulate; the answer is the same.
    monkeypatch.setattr(earnings, "compiling_in_background", _no_compiling)
    again = run("whatif", "log.csv", *OPTIONS, "--models", "pbm")
    assert again.stdout == out.stdout
    assert "3 of 3 runs were saved by an earlier call" in again.stderr
    assert "earlier call" not in out.stderr


def _no_compiling(pairs: object) -> Any:
    import contextlib

    return contextlib.nullcontext()


def check_page(path: Path, first: str) -> None:
    text = path.read_text()
    assert not re.search(r"https?://|<script", text)
    assert "prefers-color-scheme: dark" in text
    assert text.count("<svg") >= 2
    found = re.search(r"<h[12]>(.*?)</h[12]>.*?<h2>(.*?)</h2>", text, re.DOTALL)
    assert found is not None
    assert first in found.groups()


def test_commands_on_counted_clicks(tmp_path: Path) -> None:
    """As in KDD Cup 2012: how often each ad was shown and clicked, and nothing of lists."""
    counts = pbm_log(POOR, 1.5, n=3_000)
    cells = counts.cells
    lines = ["query,item,position,shown,clicked"]
    for pair, position, shown, clicked in zip(*cells.__dict__.values(), strict=True):
        lines.append(f"tea,{pair},{position + 1},{shown},{clicked}")
    path = tmp_path / "counted.csv"
    path.write_text("\n".join(lines) + "\n")
    found = json.loads(run("diagnose", str(path), "--json").stdout)
    assert found["winner"] == "pbm"
    assert not found["lists_known"]
    out = run("whatif", str(path), *OPTIONS, "--out", str(tmp_path / "out"), "--json")
    facts = json.loads(out.stdout)
    assert facts["recommendation"][0].startswith("Use thompson")
    assert [p["policy"] for p in facts["models"][0]["policies"]] == ["thompson", "uniform"]
    assert facts["models"][0]["unit"] == "clicks"
    assert any("shown together" in s for s in facts["diagnosis"]["cannot_tell"])


def test_several_queries_and_what_is_left_out() -> None:
    parts = [pbm_log(POOR, 1.5, n=2_000, seed=i, query=q) for i, q in enumerate("abc")]
    counts = joined([*parts, pbm_log(POOR, 1.5, n=50, seed=9, query="d")])
    found = whatif(
        counts, policies=["uniform"], models=["pbm"], plan=PLAN._replace(horizon=200, runs=2),
        protocol=Protocol(queries=4, resamples=3),
    )  # fmt: skip
    [outcome] = found.outcomes
    assert [q.name for q in outcome.group.queries] == ["a", "b", "c"]
    assert "shown 100 times (--min-shown) or more" in found.left_out["d"]
    assert "was not played on" in whatif_page(found, "log", "command")
    facts = found.facts()
    assert set(facts["models"][0]["policies"][0]["by_query"]) == {"a", "b", "c"}


def joined(parts: list[Counts]) -> Counts:
    """Put logs of one query each together."""
    sizes = np.cumsum([0, *(part.n_pairs for part in parts)])
    rows = [p.sessions for p in parts]
    sessions = Sessions(
        np.vstack([s.items + np.int32(z) for s, z in zip(rows, sizes, strict=False) if s]),
        np.vstack([s.clicks for s in rows if s]),
        np.concatenate([s.times for s in rows if s]),
    )
    return Counts(
        parts[0].n_positions,
        np.concatenate([part.queries for part in parts]),
        np.repeat(np.arange(len(parts)), np.diff(sizes)),
        np.concatenate([part.pair_item for part in parts]),
        cells_of(sessions),
        sessions,
    )


def test_ctrl_c_tells_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, poor: WhatIf
) -> None:
    real = cr.simulate_many

    def stopped(policies: Any, *args: Any, **options: Any) -> Any:
        if options["label"] == "uniform":
            raise KeyboardInterrupt
        return real(policies, *args, **options)

    monkeypatch.setattr(earnings, "simulate_many", stopped)
    found = whatif(poor.diagnosis.counts, policies=FEW, models=["pbm"], plan=PLAN)
    assert found.interrupted
    assert found.outcomes[0].played.unfinished == ("uniform",)
    assert found.recommendation()[0].startswith("No recommendation yet")
    assert "Incomplete" in whatif_page(found, "log", "command")
    with pytest.raises(KeyboardInterrupt):
        whatif(poor.diagnosis.counts, policies=["uniform"], models=["pbm"], plan=PLAN)
    write_log(tmp_path / "log.csv", pbm_log(POOR, 1.5, n=600))
    log, out = str(tmp_path / "log.csv"), str(tmp_path / "out")
    done = CliRunner().invoke(app, ["whatif", log, *OPTIONS, "--models", "pbm", "--out", out])
    assert done.exit_code == 130
    assert "interrupted before uniform" in done.stdout


def test_slow_policies_are_left_out_unless_named(poor: WhatIf) -> None:
    hasty = PLAN._replace(patience=1e-9)
    with pytest.raises(DoesNotApply, match="it would take about 0 minutes; name it"):
        whatif(poor.diagnosis.counts, policies=["uniform"], models=["pbm"], plan=hasty)


def test_refusals(poor: WhatIf) -> None:
    counts = poor.diagnosis.counts
    with pytest.raises(UnknownName, match="Did you mean 'thompson'"):
        whatif(counts, policies=["tompson"], plan=PLAN)
    with pytest.raises(DoesNotApply, match="must name a policy"):
        whatif(counts, policies=[], plan=PLAN)
    with pytest.raises(InvalidValue, match="runs"):
        whatif(counts, plan=PLAN._replace(runs=1))
    with pytest.raises(DoesNotApply, match="no query can be played on") as none:
        whatif(counts, models=["pbm"], protocol=Protocol(min_shown=10**9), plan=PLAN)
    assert not re.search(r"\.[.;]", str(none.value))
    with pytest.raises(DoesNotApply, match="no policy applies"):
        whatif(counts, policies=["cascade-ucb1"], models=["pbm"], plan=PLAN)
    with pytest.raises(DoesNotApply) as neither:
        whatif(counts, policies=["recurrank", "cascade-ucb1"], models=["pbm"], plan=PLAN)
    assert str(neither.value) == (
        "whatif: no policy applies. recurrank: features must be given, which click model 'pbm' "
        "does not have. cascade-ucb1: it assumes cascade clicks, not pbm."
    )
    wrong = CliRunner().invoke(app, ["diagnose", "log.csv", "--out", "page.txt"])
    assert wrong.exit_code == 2
    assert "--out must end in .html" in wrong.output
