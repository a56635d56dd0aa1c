"""Commands without what they need: the message names all that is missing, and how to get it."""

from __future__ import annotations

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
    ],
)
def test_commands_name_all_that_is_missing(
    command: tuple[str, ...], missing: tuple[str, ...], said: str
) -> None:
    text = run_without(missing, *command)
    assert f"clickrank: {said}pip install -e '{ROOT}[logs" in text


def test_arguments_are_checked_before_extras() -> None:
    text = run_without(("pyarrow", "matplotlib"), "diagnose", "log.csv", "--out", "report.txt")
    assert "--out must end in .html" in text
    text = run_without(("pyarrow",), "evaluate", "log.csv")
    assert "give either --policy or --ranking" in text


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
