"""The page on evaluation runs as printed, on its own log; so does its example on real data."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import clickrank.evaluate as ev
from clickrank.cli.app import app
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "howto" / "evaluate.md").read_text()
OPEN_BANDIT = Path("/work/shared/data/open_bandit")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's first block has made its log."""
    where = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        names: dict[str, object] = {}
        for block in blocks("python"):
            exec(block, names)
    return where


@pytest.mark.parametrize("line", "".join(blocks("console")).splitlines())
def test_commands_run(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert line.startswith("$ clickrank ")
    done = CliRunner().invoke(app, shlex.split(line)[2:])
    assert done.exit_code == 0, done.output
    assert "Better than today's by sn-list-ips" in done.output


def command(folder: Path, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["evaluate", str(folder / "log.csv"), *options])
    return done.exit_code, done.output


def test_json_has_what_the_table_has(folder: Path) -> None:
    code, text = command(folder, "--ranking", "tea,cups", "--estimator", "list-ips,rips", "--json")
    assert code == 0
    found = json.loads(text)
    assert found["propensities"] == "logged"
    assert set(found["estimates"]) == {"list-ips", "rips"}
    estimate = found["estimates"]["list-ips"]
    assert estimate["interval"][0] < 0.65 < estimate["interval"][1]  # .9 · .5 + .5 · .4
    assert estimate["bernstein"][0] < 0.65 < estimate["bernstein"][1]
    assert found["verdict"][0].startswith("Better than today's")


def test_policy_that_learns_only_from_its_own_lists_is_replayed(folder: Path) -> None:
    code, text = command(folder, "--policy", "toprank", "--estimator", "list-ips", "--json")
    assert code == 3
    assert "learns only from lists that it has chosen" in json.loads(text)["refused"]["list-ips"]


def test_refusals_have_an_exit_code(folder: Path) -> None:
    code, text = command(folder, "--ranking", "tea,soap")
    assert (code, text) == (
        3,
        "The log cannot tell. No overlap: the log never shows the item 'soap'.\n",
    )
    code, text = command(folder, "--ranking", "tea,soap", "--json")
    assert (code, list(json.loads(text))) == (3, ["refused"])
    assert command(folder)[0] == 2
    assert command(folder, "--ranking", "tea,cups", "--estimator", "ips")[0] == 2
    assert command(folder, "--ranking", "tea,cups", "--reward", "likes")[0] == 2
    assert command(folder, "--ranking", "tea,cups", "--propensities", "mine")[0] == 2


def test_estimators_are_on_the_page() -> None:
    for name in ev.ESTIMATORS:
        assert f"`{name}`" in PAGE


def test_sources_are_in_the_bibliography() -> None:
    known = set(
        re.findall(r"^\| (\w+\d{4}\w?) \|", (ROOT / "docs/bibliography.md").read_text(), re.M)
    )
    for cls in ev.ESTIMATORS.values():
        source = re.search(r"\*\*Source\*\*:(.*?)\n\n", cls.__doc__ or "", re.DOTALL)
        assert source, cls
        cited = set(re.findall(r"\b[a-z]+\d{4}\b", source.group(1)))
        assert cited
        assert cited <= known


@pytest.mark.skipif(
    not OPEN_BANDIT.exists(),
    reason="needs the small Open Bandit Dataset (github.com/st-tech/zr-obp, folder obd)",
)
def test_open_bandit_logs_agree() -> None:
    from clickrank.logs import open_log

    logs = []
    for logger in ("random", "bts"):
        with open_log(OPEN_BANDIT / logger / "all" / "all.csv") as opened:
            logs.append(opened.impressions())
    uniform, sampler = logs
    own = float((sampler.clicks.sum(axis=0) / (sampler.rankings >= 0).sum(axis=0)).sum())
    found = ev.ItemPositionIPS().estimate(uniform, ev.shown_in(sampler, names=uniform.items))
    assert found.interval is not None
    assert found.interval.low < own < found.interval.high
    for number in (found.value, *found.interval, own):  # as the page has them
        assert f"{number:.4f}" in PAGE
    assert f"effective n of {found.effective_size:.0f}" in PAGE
