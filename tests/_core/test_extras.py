"""Commands without their extras: the message names all missing modules and how to install them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from clickrank._core import extras
from clickrank._core.extras import EXTRAS, install_command, require
from clickrank.errors import MissingExtra
from tests.paths import ROOT

#: Runs a command as if some modules were not installed.
WITHOUT = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
from clickrank.cli.app import app
app({arguments!r})
"""


def run_without(missing: tuple[str, ...], *arguments: str) -> str:
    code = WITHOUT.format(missing=missing, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("command", "missing", "said"),
    [
        (("read", "log.csv"), ("pyarrow",), "read needs pyarrow: "),
        (("read", "log.csv"), EXTRAS["logs"], "read needs duckdb, ibis, pyarrow: "),
        (("diagnose", "log.csv"), ("pyarrow",), "diagnose needs pyarrow: "),
        (
            ("diagnose", "log.csv", "--out", "report.html"),
            ("ibis", "matplotlib"),
            "diagnose needs ibis, matplotlib: ",
        ),
        (("whatif", "log.csv"), ("duckdb", "matplotlib"), "whatif needs duckdb, matplotlib: "),
        (("evaluate", "log.csv", "--policy", "grab"), ("pyarrow",), "evaluate needs pyarrow: "),
        (("compare", "--plot", "plot.png"), ("matplotlib",), "compare needs matplotlib: "),
    ],
)
def test_commands_name_all_that_is_missing(
    command: tuple[str, ...], missing: tuple[str, ...], said: str
) -> None:
    text = run_without(missing, *command)
    assert re.search(rf"clickrank: {said}pip install -e '{ROOT}\[[a-z,]+\]'\.$", text), text


def test_every_command_that_needs_an_extra_says_which() -> None:
    """Without any extra, a command either runs or ends in one line that says what to install."""
    missing = tuple(sorted({module for modules in EXTRAS.values() for module in modules}))
    for command, needed in (
        (("read", "log.csv"), "logs"),
        (("diagnose", "log.csv"), "logs"),
        (("diagnose", "log.csv", "--plot", "plot.png"), "logs,plots"),
        (("whatif", "log.csv"), "logs,plots"),
        (("evaluate", "log.csv", "--policy", "grab"), "logs"),
        (("read", "log.csv", "--engine", "pyspark"), "spark"),
        (("compare", "--plot", "plot.png"), "plots"),
        (("serve",), "serve"),
        (("keys", "list"), "serve"),
        (("keys", "add", "me", "--role", "admin"), "serve"),
        (("keys", "revoke", "1"), "serve"),
        (("verify",), "serve"),
        (("compact", "--older-than", "3d"), "serve"),
        (("export", "shop", "--out", "log.parquet"), "serve"),
        (("reproduce", "lagree-2016/figure-1a", "--scale", "quick"), "plots"),
    ):
        assert f"pip install -e '{ROOT}[{needed}]'." in run_without(missing, *command), command


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("compare", "--plot", "plot.txt"), "--plot must end in"),
        (("compare", "--plot", "plot.png", "--policies", "grap"), "Unknown policy 'grap'"),
        (("read", "log.csv", "--column", "query"), "--column must be NAME=COLUMN"),
        (("read", "log.csv", "--engine", "sparkle"), "Unknown engine 'sparkle'"),
        (("reproduce", "--scale", "huge"), "--scale must be 'quick', 'decide' or 'paper'"),
        (("reproduce", "--data", "none"), "--data none: no such file or folder"),
        (("diagnose", "log.csv", "--out", "report.txt"), "--out must end in .html"),
        (("diagnose", "log.csv", "--models", "pmb"), "Did you mean 'pbm'?"),
        (("whatif", "log.csv", "--horizon", "0.5"), "--horizon must be a whole number"),
        (("whatif", "log.csv", "--policies", "grap"), "Unknown policy 'grap'"),
        (("evaluate", "log.csv"), "either --policy or --ranking must be given"),
        (("evaluate", "log.csv", "--policy", "grap"), "Unknown policy 'grap'"),
        (("evaluate", "log.csv", "--ranking", "a", "--level", "2"), "--level must be"),
        (("evaluate", "log.csv", "--ranking", "a", "--estimator", "ipss"), "Unknown estimator"),
        (("compact",), "--before or --older-than"),
        (("compact", "--older-than", "3w"), "--older-than must be"),
    ],
)
def test_arguments_are_checked_before_extras(command: tuple[str, ...], said: str) -> None:
    missing = {module for modules in EXTRAS.values() for module in modules}
    assert said in run_without(tuple(sorted(missing)), *command)


def test_one_command_installs_several_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "plots", ("no_such_plots",))
    monkeypatch.setitem(EXTRAS, "logs", ("pyarrow", "no_such_logs"))
    with pytest.raises(
        MissingExtra, match=r"X needs no_such_logs, no_such_plots: .*\[logs,plots\]'"
    ):
        require("X needs", "logs", "plots")
    require("X needs", "logs", but=("no_such_logs",))
    require("X needs", "client")


def test_the_command_for_an_installed_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert install_command("logs") == f"pip install -e '{ROOT}[logs]'"
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "lib" / "clickrank" / "extras.py"))
    assert install_command("logs") == "pip install 'clickrank[logs]'"


def test_extras_are_those_of_the_project() -> None:
    """Each extra installs the distributions that its modules come in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed: dict[str, list[str]] = project["optional-dependencies"]
    assert set(EXTRAS) == set(listed) - {"all"}
    # PySpark is not in the lock file.
    distributions = {**packages_distributions(), "pyspark": ["pyspark"]}
    for extra, modules in EXTRAS.items():
        text = " ".join(listed[extra]).replace("clickrank[logs]", " ".join(listed["logs"]))
        for module in modules:
            names = [name.replace("_", "-") for name in distributions[module]]
            assert any(name.lower() in text for name in names), (module, names, text)
