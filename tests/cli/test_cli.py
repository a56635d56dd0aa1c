"""The command line: what commands print, and their exit codes."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import clickrank
import clickrank.experiments
from clickrank import simulation
from clickrank.cli.app import app
from clickrank.clickmodels import CLICK_MODELS
from clickrank.experiments import Reproduction, Scale
from clickrank.policies import POLICIES, Assumes
from clickrank.reports.descriptions import assumptions_of
from clickrank.service.runtime.available_policies import policy_infos
from clickrank.simulation import Comparison, Result

SMALL = ["--horizon", "100", "--runs", "2", "--threads", "1"]


class Output(NamedTuple):
    stdout: str
    stderr: str


def run(*arguments: str, code: int = 0) -> Output:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    if result.exception is not None:
        assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return Output(result.stdout, result.stderr)


def fails(*arguments: str) -> str:
    """Run a command that must fail; return its one line of error."""
    result = run(*arguments, code=2)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("clickrank: ")
    return lines[0].removeprefix("clickrank: ")


def test_help_and_version() -> None:
    assert run("--version").stdout == f"clickrank {clickrank.__version__}\n"
    text = run("--help").stdout
    for command in ("policies", "models", "compare", "reproduce"):
        assert command in text
        assert "Usage" in run(command, "--help").stdout


def test_help_shows_no_type_where_nothing_is_typed() -> None:
    """Typer shows <bool> for a switch, as if "true" could follow it."""
    commands: Any = get_command(app)
    lines = [(), *((name,) for name in commands.commands)]
    for words in (*lines, ("keys", "add"), ("keys", "list"), ("keys", "revoke")):
        text = run(*words, "--help").stdout
        assert "bool" not in text, words
        assert "--help" in text


@pytest.mark.parametrize("line", ["--help", "compare --help", "policies", "policies --json"])
def test_a_closed_pipe_ends_a_command_quietly(line: str) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        command = [sys.executable, "-m", "clickrank", *line.split()]
        ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(write)
    assert ended.stderr == b""
    assert ended.returncode == 141  # 128 + SIGPIPE, as of any tool in a shell


@pytest.mark.parametrize(
    ("failure", "printed"),
    [
        ("raise BrokenPipeError(32, 'Broken pipe')", "clickrank: Broken pipe."),
        (
            "try:\n    raise BrokenPipeError(32, 'x')\nexcept OSError as e:\n"
            "    raise ClickRankError('The service cannot be reached.') from e",
            "clickrank: The service cannot be reached.",
        ),
    ],
)
def test_another_broken_pipe_is_an_error_like_others(failure: str, printed: str) -> None:
    """A worker's pipe or a socket is not the output: the command has failed."""
    code = (
        "import sys\nfrom clickrank.cli.app import app\n"
        "from clickrank.errors import ClickRankError\n"
        f"@app.command()\ndef fail() -> None:\n    exec({failure!r})\n"
        "sys.argv = ['clickrank', 'fail']\napp()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr.strip()) == (2, printed)


def test_every_assumption_is_listed() -> None:
    """A policy that assumes one thing more is listed with other words, whatever the thing is."""
    nothing = Assumes()
    more: dict[str, list[Any]] = {
        "click_models": [("pbm",), ("pbm", "cascade")],
        "known": [("examination",)],
        "horizon": [True],
        "features": [True],
        "priors": [True],
        "positions": ["first", "decreasing", "one"],
        "equal_satisfaction": [True],
    }
    assert set(more) == {field.name for field in dataclasses.fields(Assumes)}
    texts = {assumptions_of(nothing).text()}
    for field, values in more.items():
        for value in values:
            listed = assumptions_of(dataclasses.replace(nothing, **{field: value}))
            assert getattr(listed, field) == (list(value) if isinstance(value, tuple) else value)
            assert listed.text() not in texts, field
            texts.add(listed.text())
    words = set(run("policies").stdout.replace(",", " ").split())
    for info, cls in zip(policy_infos(), POLICIES.values(), strict=True):
        assert info.assumes == assumptions_of(cls.assumes).text()
        assert set(info.assumes.replace(",", " ").split()) <= words


def test_policies_lists_every_policy() -> None:
    table = run("policies").stdout
    entries = json.loads(run("policies", "--json").stdout)
    assert [e["name"] for e in entries] == list(POLICIES)
    for name, entry in zip(POLICIES, entries, strict=True):
        assert name in table
        assert entry["summary"]
        assert entry["assumes"] == json.loads(
            json.dumps(dataclasses.asdict(POLICIES[name].assumes))
        )
    warned = [e["name"] for e in entries if e["cautions"]]
    assert {"thompson", "bayes-ucb", "dcm-kl-ucb"} <= set(warned)
    assert 'observe="first-click"' in table
    ucb = next(e for e in entries if e["name"] == "pbm-ucb")
    assert ucb["assumes"]["known"] == ["examination"]
    assert ucb["parameters"] == [
        {"name": "examination", "required": True, "default": None},
        {"name": "epsilon", "required": False, "default": 0.0},
    ]


def test_models_lists_every_click_model() -> None:
    table = run("models").stdout
    entries = json.loads(run("models", "--json").stdout)
    assert [e["name"] for e in entries] == list(CLICK_MODELS)
    assert all(name in table for name in CLICK_MODELS)
    pbm = next(e for e in entries if e["name"] == "pbm")
    assert [p["name"] for p in pbm["parameters"]] == ["attraction", "examination"]
    assert pbm["reward"] == "clicks"


def test_compare_without_a_model_uses_the_example() -> None:
    text = run("compare", "--policies", "pbm-ucb", *SMALL).stdout
    assert "PBM(n_items=5, n_positions=3), 100 rounds, 2 runs, seed 0" in text
    assert "pbm-ucb" in text


def test_compare_as_json_agrees_with_python() -> None:
    text = run(
        "compare", "--policies", "pbm-ucb", "--attraction", "0.5,0.3,0.1",
        "--examination", "1,.5", "--seed", "4", "--json", *SMALL,
    ).stdout  # fmt: skip
    facts = json.loads(text)
    model = clickrank.clickmodels.PBM([0.5, 0.3, 0.1], [1, 0.5])
    expected = clickrank.compare(["pbm-ucb"], model, 100, 2, seed=4).summary()[0]
    assert facts["policies"][0]["mean"] == expected.mean
    assert (facts["horizon"], facts["runs"], facts["seed"]) == (100, 2, 4)
    assert facts["interrupted"] is False


def test_compare_one_run_has_no_interval() -> None:
    text = run("compare", "--policies", "pbm-ucb", "--json", "--runs", "1", "--horizon", "50")
    assert json.loads(text.stdout)["policies"][0]["low"] is None


def test_compare_all_says_why_a_policy_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which policies are chosen; `clickrank.checks` plays every policy."""
    result = Result("p", "m", np.array([1, 100]), np.ones((2, 2)), np.arange(2), 0, 1.0, wanted=2)
    monkeypatch.setattr(
        simulation, "compare", lambda chosen, *a, **o: Comparison(dict.fromkeys(chosen, result))
    )
    model = ("--model", "cascade", "--attraction", "0.5,0.3", "--n-positions", "1")
    facts = json.loads(run("compare", *model, "--json", *SMALL).stdout)
    ran = {row["policy"] for row in facts["policies"]}
    assert ran | set(facts["skipped"]) == set(POLICIES)
    assert "pbm-ucb" in facts["skipped"]
    text = run("compare", *model, *SMALL).stdout
    for name, reason in facts["skipped"].items():
        assert f"without {name}: {reason}" in text


def test_compare_takes_a_model_file(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text('model = "pbm"\nattraction = [0.5, 0.2]\nexamination = [1.0]\n')
    text = run("compare", "--policies", "pbm-ucb", "--model-file", str(path), *SMALL).stdout
    assert "PBM(n_items=2, n_positions=1)" in text
    both = ("--model-file", str(path), "--attraction", "0.5")
    assert "must not be combined" in fails("compare", *both)


def test_compare_on_browsing_users(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    after = [[1.0], [0.5, 0.8]]
    path.write_text(
        json.dumps({"model": "ubm", "attraction": [0.5, 0.2], "examination_after": after})
    )
    text = run("compare", "--policies", "uniform", "--model-file", str(path), *SMALL).stdout
    assert "UBM(n_items=2, n_positions=2)" in text
    model = ["--model", "dbn", "--attraction", "0.5,0.2", "--n-positions", "1"]
    model += ["--item-satisfaction", "0.3,0.9", "--continuation", "0.8"]
    text = run("compare", "--policies", "uniform", *model, *SMALL).stdout
    assert "DBN(n_items=2, n_positions=1)" in text


def test_compare_saves_and_plots(tmp_path: Path) -> None:
    saved, plot = tmp_path / "r.npz", tmp_path / "r.png"
    files = ("--save", str(saved), "--plot", str(plot))
    run("compare", "--policies", "pbm-ucb", "--delay", "5", "--batch", "3", *files, *SMALL)
    assert Comparison.load(saved)["pbm-ucb"].runs == 2
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_plotting_without_matplotlib_fails_before_the_simulation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "[plots]'" in fails("compare", "--plot", "x.png")


def test_ctrl_c_prints_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = np.array([1, 100])
    partial = Result("p", "m", rounds, np.ones((1, 2)), np.array([0]), 0, 1.0, wanted=2)
    monkeypatch.setattr(simulation, "compare", lambda *a, **o: Comparison({"pbm-ucb": partial}))
    result = run("compare", "--policies", "pbm-ucb", *SMALL, code=130)
    assert "pbm-ucb" in result.stdout
    assert "interrupted" in result.stderr


def test_ctrl_c_before_anything_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any, **options: Any) -> Comparison:
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation, "compare", stopped)
    result = run("compare", "--policies", "pbm-ucb", *SMALL, code=130)
    assert result.stderr == "clickrank: interrupted.\n"


def test_reproduce_lists_the_experiments() -> None:
    text = run("reproduce", "--list").stdout
    for experiment in clickrank.experiments.list_experiments():
        assert experiment.name in text
    assert "figure-2" not in run("reproduce", "001/figure-1a", "--list").stdout


def test_reproduce_prints_tables_and_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = clickrank.experiments.reproduce

    def tiny(target: str | None, *, scale: str, **options: Any) -> Reproduction:
        assert scale == "quick"
        return real(target, scale=Scale(horizon=50, runs=2), **options)

    monkeypatch.setattr(clickrank.experiments, "reproduce", tiny)
    arguments = ("reproduce", "001/figure-1a", "--out", str(tmp_path), "--threads", "1")
    result = run(*arguments)
    for text in ("bc-mp-ts-locks", "pbm-ts", "95 % interval", f"Report: {tmp_path}/index.html"):
        assert text in result.stdout
    assert "[1/2] lagree-2016/figure-1a" in result.stderr
    assert "undecided so far" in result.stdout
    again = run(*arguments, "--json")
    assert "nothing to simulate" in again.stderr
    assert json.loads(again.stdout) == json.loads((tmp_path / "claims.json").read_text())


def test_reproduce_interrupted_exits_with_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Reproduction([], tmp_path / "index.html", interrupted=True)
    monkeypatch.setattr(clickrank.experiments, "reproduce", lambda *a, **o: done)
    run("reproduce", "--out", str(tmp_path), code=130)
