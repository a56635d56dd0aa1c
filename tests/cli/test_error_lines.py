"""Wrong command lines: the message is about what was typed, and has no Python in it."""

from __future__ import annotations

import random
import re
import shlex
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from clickrank.cli.app import app
from clickrank.logs import query_engine

#: Each wrong command line, and what its message must contain.
WRONG = [
    ("compare --policies pbm-ubc", "Unknown policy 'pbm-ubc'. Did you mean 'pbm-ucb'?"),
    ("compare --policies ,", "--policies must name a policy, or be 'all', got ','"),
    ("compare --model pmb", "Unknown click model 'pmb'. Did you mean 'pbm'?"),
    ("compare --attraction 0.5,x", "--attraction must be comma-separated numbers, got '0.5,x'"),
    ("compare --attraction 0.5,0.2", "pbm: --examination must be given"),
    (
        "compare --attraction 0.2,1.5 --examination 1",
        "number 2 of --attraction must be between 0 and 1, got 1.5",
    ),
    (
        "compare --attraction 0.5 --examination 1,1",
        "pbm: the number of positions must be between 1 and the number of items (1), got 2",
    ),
    (
        "compare --model cascade --attraction 0.5,0.3 --n-positions 3",
        "cascade: --n-positions must be between 1 and the number of items (2), got 3",
    ),
    ("compare --model ubm --attraction 0.5", "pass it with --model-file"),
    ("compare --satisfaction 1", "--satisfaction must not be given for the click model 'pbm'"),
    ("compare --horizon 0.5", "--horizon must be a whole number of at least 1, got 0.5"),
    ("compare --horizon ten", "--horizon must be a number, got ten."),
    ("compare --runs 0", "--runs must be a whole number of at least 1, got 0"),
    ("compare --seed -1", "--seed must be a whole number of at least 0, got -1"),
    ("compare --delay 11 --horizon 10", "--delay must be a whole number between 0 and 10, got 11"),
    ("compare --batch 0 --horizon 10", "--batch must be a whole number between 1 and 10, got 0"),
    ("compare --threads 0", "--threads must be at least 1, got 0"),
    ("compare --model-file none.json", "clickrank: none.json: the file must be readable"),
    ("compare --model-file broken.json", "clickrank: broken.json: the file must be JSON or TOML"),
    ("compare --model-file bad.json", "bad.json: pbm: examination must be given"),
    ("compare --model-file extra.json", 'extra.json: Unknown parameter of pbm "x"'),
    (
        "compare --model-file bad.json --attraction 0.5",
        "--model-file must not be combined with --attraction",
    ),
    ("compare --plot x.txt", "--plot must end in .png or .pdf or .svg, got 'x.txt'"),
    ("compare --plot lists.csv/x.png", "clickrank: lists.csv: Not a directory."),
    ("read lists.csv --out lists.csv/x.parquet", "clickrank: lists.csv: Not a directory."),
    (
        "compare --policies pbm-ucb --model cascade --attraction 0.5,0.3 --n-positions 1",
        "pbm-ucb: examination must be given, which click model 'cascade' does not have",
    ),
    (
        "compare --policies cascade-ucb1",
        "cascade-ucb1: does not apply to the click model 'pbm': it assumes cascade clicks, not "
        "pbm. Pass --allow-mismatch to run it anyway.",
    ),
    (
        "compare --policies thompson --model mnl --attraction 0.5,0.3 --position-bias 1,0.5",
        "thompson: click_model must be one of dctr, cascade, dcm, pbm, got 'mnl'",
    ),
    ("reproduce lagree", "Unknown paper 'lagree'. Did you mean 'lagree"),
    ("reproduce lagree-2016/figure-9", "Unknown figure of lagree-2016 'figure-9'"),
    ("board no-page", "Unknown page 'no-page'. Known: cascade-catalogue"),
    ("board --policy pbm-usb", "Unknown policy 'pbm-usb'. Did you mean 'pbm-ucb'?"),
    ("board --budget 3m", "--budget must not be given without --play, got '3m'"),
    ("board --play --budget 3", "--budget must be a time such as 2h, 30m or 90s, got '3'"),
    ("board --module nothing_there", "--module must be a Python module or file"),
    ("verdicts lagree-2017", "Unknown paper or figure 'lagree-2017'. Did you mean 'lagree-2016'"),
    ("reproduce --scale huge", "--scale must be 'quick', 'decide' or 'paper', got 'huge'"),
    ("reproduce --threads 0", "--threads must be at least 1, got 0"),
    ("reproduce lagree-2016/figure-1a --data none", "--data none: no such file or folder"),
    ("reproduce lagree-2016/figure-1a --data .", "--data must be a folder with"),
    ("reproduce lagree-2016/figure-1a --out lists.csv/x", "lists.csv/x: Not a directory"),
    ("read none.csv", "there is no file 'none.csv'"),
    ("read empty.csv", "clickrank: empty.csv is empty."),
    ("read empty.csv --format csv", "clickrank: empty.csv is empty."),
    ("read emptydir", "clickrank: the folder emptydir has no files."),
    ("read odd.csv", "--column"),
    ("read lists.csv --format xyz", "Unknown log format 'xyz'"),
    ("read lists.csv --column query", "--column must be NAME=COLUMN, as in query=q, got 'query'"),
    ("read lists.csv --column foo=q", "Unknown column 'foo'"),
    ("read lists.csv --column query=qq", "'qq'"),
    ("read lists.csv --first-position 2", "--first-position must be at most 1, got 2."),
    ("read lists.csv --min-displays 100000", "the filters must leave rows"),
    ("read lists.csv --top-queries 0", "--top-queries"),
    ("read lists.csv --engine sparkle", "Unknown engine 'sparkle'. Did you mean 'pyspark'?"),
    ("read lists.csv --memory lots", "--memory must be a size such as 500MB or 4GB, got 'lots'"),
    ("read lists.csv --format parquet", "lists.csv must be a complete Parquet file"),
    ("read lists.csv --format yandex-2013 --column query=q", "--column must be left out"),
    ("diagnose none.csv", "there is no file 'none.csv'"),
    ("diagnose lists.csv --models pmb", "'pmb'. Did you mean 'pbm'?"),
    ("diagnose lists.csv --models ,", "--models must name a click model"),
    ("diagnose lists.csv --plot x.txt", "--plot must end in"),
    ("diagnose lists.csv --out x.txt", "--out must end in .html, got 'x.txt'"),
    ("diagnose lists.csv --test-share 2", "--test-share must be at most 0.99, got 2."),
    ("diagnose one.csv", "at least 2 held-out lists are needed, got"),
    ("whatif lists.csv --policies pbm-ubc", "Unknown policy 'pbm-ubc'. Did you mean 'pbm-ucb'?"),
    ("whatif lists.csv --policies ,", "--policies must name a policy"),
    ("whatif lists.csv --models pmb", "'pmb'. Did you mean 'pbm'?"),
    ("whatif lists.csv --horizon 0.5", "--horizon must be a whole number of at least 2, got 0.5"),
    ("whatif lists.csv --runs 1", "--runs must be a whole number of at least 2, got 1"),
    ("whatif lists.csv --threads 0", "--threads must be at least 1, got 0"),
    ("whatif lists.csv --out lists.csv", "--out must be a folder, and lists.csv is a file."),
    ("whatif lists.csv --models pbm --min-shown 100000", "(--min-shown)"),
    ("whatif lists.csv --out lists.csv/x", "lists.csv/x: Not a directory"),
    ("evaluate lists.csv", "either --policy or --ranking must be given"),
    ("evaluate lists.csv --policy grab --ranking a,b", "either --policy or --ranking"),
    ("evaluate lists.csv --policy grap", "Unknown policy 'grap'. Did you mean 'grab'?"),
    ("evaluate lists.csv --policy recurrank", "recurrank: features must be given"),
    (
        "evaluate lists.csv --ranking a",
        "--ranking must name 2 items, the length of the lists in the log, got 1. Or pass "
        "--positions 1.",
    ),
    (
        "evaluate words.csv --ranking a,b",
        "there must be rows to count, got 0. The most frequent reason (80 rows)",
    ),
    ("evaluate lists.csv --policy GRAB-X", "Unknown policy 'GRAB-X'. Did you mean 'grab'?"),
    ("compare --policies PB-MHB", "Unknown policy 'PB-MHB'. Did you mean 'pb-mhb'?"),
    ("compare --model MNL", "Unknown click model 'MNL'. Did you mean 'mnl'?"),
    (
        "evaluate lists.csv --ranking a,z",
        "--ranking must name items that were shown for each of the 2 queries",
    ),
    ("evaluate lists.csv --ranking a,a", "--ranking must name each item once, got 'a,a'"),
    ("evaluate lists.csv --ranking a,b --estimator ipss", "Unknown estimator 'ipss'"),
    (
        "evaluate lists.csv --ranking a,b --estimator ips",
        "Unknown estimator 'ips'. Did you mean 'document-ips', 'item-position-ips', 'list-ips', "
        "'position-based-ips' or 'rips'?",
    ),
    (
        "evaluate lists.csv --ranking a,b --estimator sn-ips",
        "Did you mean 'sn-document-ips', 'sn-item-position-ips', 'sn-list-ips' or "
        "'sn-position-based-ips'?",
    ),
    ("evaluate lists.csv --ranking a,b --estimator replai", "Did you mean 'replay'?"),
    ("evaluate lists.csv --ranking a,b --reward money", "--reward must be 'clicks' or 'any-click'"),
    ("evaluate lists.csv --ranking a,b --propensities none", "--propensities must be 'logged'"),
    (
        "evaluate lists.csv --ranking a,b --query zz",
        "--query must be in the log, got zz. The first queries of the log are 'q0', 'q1'.",
    ),
    ("evaluate lists.csv --ranking a,b --level 2", "--level must be a number between 0.5 and 1"),
    ("evaluate lists.csv --ranking a,b --clip -1", "--clip must be a number above 0, got -1"),
    ("evaluate lists.csv --ranking a,b --model pmb", "'pmb'. Did you mean 'pbm'?"),
    ("evaluate lists.csv --ranking a,b --seed -1", "--seed must be a whole number of at least 0"),
    ("evaluate lists.csv --policy uniform --split 2", "--split must be a number between 0 and 1"),
    ("warm grap", "Unknown policy 'grap'. Did you mean 'grab'?"),
    ("warm grab --model pmb", "Unknown click model 'pmb'. Did you mean 'pbm'?"),
    ("warm grab --processes 0", "--processes must be at least 1, got 0"),
    ("serve --port abc", "--port must be a whole number, got abc."),
    ("serve --store nonsense", "--store must look like sqlite:///clickrank.db"),
    (
        "serve --host nonsense.invalid --store sqlite:///s.db",
        "--host must be an address or a name of this machine, got 'nonsense.invalid'.",
    ),
    ("serve --store mysql://x", "--store must name an SQLite file or a PostgreSQL database"),
    ("serve --workers 2 --store sqlite:///s.db", "PostgreSQL"),
    ("serve --host 0.0.0.0 --port 0 --store sqlite:///s.db", "clickrank keys add NAME --role"),
    ("keys add me --role king --store sqlite:///s.db", "--role must be one of rank, admin"),
    ("keys add '' --role admin --store sqlite:///s.db", "NAME must have 1 to 100 characters"),
    ("keys revoke x --store sqlite:///s.db", "must be a whole number, got x."),
    ("keys revoke 99 --store sqlite:///s.db", "99"),
    ("keys list --store sqlite:///none.db", "none.db"),
    ("verify --store sqlite:///none.db", "none.db"),
    ("compact --store sqlite:///s.db", "--before or --older-than must be given."),
    (
        "compact --before 2026-10-01 --older-than 3d --store sqlite:///s.db",
        "give either --before or --older-than, not both.",
    ),
    ("compact --before 2026-13-01 --store sqlite:///s.db", "--before must be a day"),
    ("compact --older-than 3w --store sqlite:///s.db", "--older-than must be"),
    ("export shop --out x.parquet --store sqlite:///s.db", "NAME must be"),
]

#: What only somebody who writes Python would type: values, calls, reprs of lists and classes.
PYTHON = re.compile(
    r"=True|=False|\bNone\b|\bTrue\b|\bFalse\b|allow_mismatch|n_items|n_positions|open_log|\w\(\w+="
    r"|\[['\d]|\{'|Path\(|\b(?:InvalidValue|[A-Z][a-z]+UCB|PBM|Cascade|Database|Settings)\b"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log of two queries, with files that are wrong, and with a store."""
    path = tmp_path_factory.mktemp("wrong")
    rng = random.Random(1)
    rows = ["impression_id,query,position,item,click"]
    for i in range(40):
        for k, item in enumerate(rng.sample("abcd", 2)):
            rows.append(f"{i},q{i % 2},{k + 1},{item},{rng.randint(0, 1)}")
    files = {
        "lists.csv": "\n".join(rows) + "\n",
        "odd.csv": "a,b\n1,2\n",
        "words.csv": "\n".join([rows[0], *(re.sub(r"\d$", "yes", row) for row in rows[1:])]) + "\n",
        "empty.csv": "",
        "one.csv": f"{rows[0]}\n0,q0,1,a,1\n0,q0,2,b,0\n",
        "bad.json": '{"model": "pbm", "attraction": [0.5, 0.2]}',
        "broken.json": "[1",
        "extra.json": '{"model": "pbm", "attraction": [0.5], "examination": [1.0], "x": 1}',
    }
    for name, text in files.items():
        (path / name).write_text(text)
    (path / "emptydir").mkdir()
    line = ["keys", "add", "first", "--role", "rank", "--store", f"sqlite:///{path}/s.db"]
    assert CliRunner().invoke(app, line).exit_code == 0
    return path


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_wrong_command_lines(
    line: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for name, value in {"COLUMNS": "400", "NO_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(app, shlex.split(line), prog_name="clickrank")
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    own = [one for one in result.stderr.splitlines() if one.startswith("clickrank: ")]
    said = own[-1] if own else result.stderr  # Typer checks which options there are
    assert message in said
    assert not PYTHON.search(said), said


def test_evaluate_shows_the_problems_of_a_log_of_which_nothing_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    shown = []
    for line in ("read words.csv", "evaluate words.csv --ranking a,b"):
        result = CliRunner().invoke(app, line.split(), prog_name="clickrank")
        assert result.exit_code == 2
        shown.append(result.stderr)
    assert "words.csv:2" in shown[0]
    assert shown[0] == shown[1]


def test_evaluate_suggests_fewer_positions_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    line = "evaluate lists.csv --ranking a,b,c --positions 3"
    said = CliRunner().invoke(app, line.split(), prog_name="clickrank").stderr
    assert "--ranking must name 2 items, the length of the lists in the log, got 3." in said
    assert "Or pass" not in said


def test_a_missing_folder_of_an_output_file_is_made(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    small = "--policies uniform --horizon 10 --runs 1 --threads 1"
    for line, name in (
        ("read lists.csv --out", "read/deep/x.parquet"),
        (f"compare {small} --save", "saved/x.npz"),
        (f"compare {small} --plot", "drawn/x.svg"),
        ("diagnose lists.csv --models dctr --out", "page/x.html"),
        ("diagnose lists.csv --models dctr --plot", "drawn/too/x.svg"),
    ):
        out = tmp_path / name
        result = CliRunner().invoke(app, [*line.split(), str(out)])
        assert result.exit_code == 0, result.output
        assert out.stat().st_size > 0


def test_the_reasons_of_evaluate_have_no_python_in_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "400")
    line = "evaluate lists.csv --ranking a,b --propensities logged"
    result = CliRunner().invoke(app, line.split())
    assert "set propensities to 'uniform' (--propensities uniform" in result.stdout
    assert "propensities=" not in result.stdout
    assert "95 % interval" in result.stdout
    assert not re.search(r"\d%", result.stdout)


def test_an_address_that_cannot_be_read_is_an_error_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def offline(*_: object) -> None:
        raise duckdb.IOException("no connection to the bucket\nmore about that")

    monkeypatch.setattr(query_engine, "read_by_duckdb", offline)
    result = CliRunner().invoke(app, ["read", "s3://bucket/log.parquet"])
    assert result.exit_code == 2
    reason = "DuckDB cannot read it: no connection to the bucket."
    assert result.stderr == f"clickrank: s3://bucket/log.parquet: {reason}\n"


def test_every_command_has_a_wrong_command_line() -> None:
    named = {line.split()[0] for line, _ in WRONG}
    commands = {
        one.name or getattr(one.callback, "__name__", "") for one in app.registered_commands
    }
    groups = {str(one.name) for one in app.registered_groups}
    assert commands | groups == named | {"policies", "models", "loadtest"}
