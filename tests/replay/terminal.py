"""Run command lines in this process, and keep the stable part of their answers."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from typer.main import get_command
from typer.testing import CliRunner

from tests.replay.compare import named
from tests.replay.inputs import ITEMS, write_inputs
from tests.replay.where import FOLDER, command_line

#: Wide enough that no message is wrapped: where it is depends on the terminal.
ENVIRONMENT = {"COLUMNS": "400", "NO_COLOR": "1", "TERM": "dumb"}
#: Keys of JSON whose values are durations, so they are other ones each time.
DURATIONS = {"microseconds", "seconds"}
#: Keys of JSON whose values are reasons why not: errors, which may be reworded. Of a dictionary
#: of such the keys stay.
REASONS = {"skipped", "refused", "left_out", "problem", "cannot_tell", "example", "examples"}

_NUMBER = re.compile(r"(?<![\w.-])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
_SIZE = re.compile(r"[\d,]+ bytes")
_SECRET = re.compile(r"\bcr_[\w-]{20,}|\b[\w-]{43,}\b")
_DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b")


def command_lines() -> list[dict[str, Any]]:
    """Return the command lines, in the order in which they are run."""
    found: list[dict[str, Any]] = tomllib.loads((FOLDER / "commands.toml").read_text())["command"]
    return found


@contextlib.contextmanager
def folder_of_inputs(folder: Path) -> Iterator[None]:
    """Work in a folder with the inputs, so that no path of this machine is in any answer."""
    before, environment = Path.cwd(), {name: os.environ.get(name) for name in ENVIRONMENT}
    write_inputs(folder)
    os.chdir(folder)
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        os.chdir(before)
        for name, value in environment.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def run_all(folder: Path) -> list[dict[str, Any]]:
    """Run all command lines; return what is kept of each answer."""
    app = command_line()
    names: set[str] = set(ITEMS)
    # Typer would build all commands again for each line, which takes longer than most of them.
    made = mock.patch("typer.testing._get_command", functools.cache(get_command))
    with folder_of_inputs(folder), made:
        return [_kept(step, *_run(app, step), names) for step in command_lines()]


def _run(app: Any, step: dict[str, Any]) -> tuple[int, str, str]:
    """Return exit code, output and errors; the code is -1 for an unexpected error."""
    words = shlex.split(step["line"])
    result = CliRunner().invoke(app, words, prog_name="clickrank")
    unforeseen = result.exception is not None and not isinstance(result.exception, SystemExit)
    if unforeseen or "Traceback" in result.output:
        return -1, "", repr(result.exception)
    return result.exit_code, result.stdout, result.stderr


def _kept(
    step: dict[str, Any], code: int, output: str, errors: str, names: set[str]
) -> dict[str, Any]:
    found: dict[str, Any] = {"line": step["line"], "exit": code}
    if code < 0:
        return {**found, "raised": errors}
    if code == 2 or (code and not output):  # refused: the message may be reworded
        return {**found, "prints": bool(output), "names": _named(step["line"], errors)}
    show = step.get("show", "json" if "--json" in step["line"].split() else "table")
    found["says"] = bool(errors)
    if show == "json":
        try:
            answer = json.loads(output)
        except ValueError:
            answer = f"no JSON: {output}"
        names |= _names_in(answer)
        found["json"] = plain(answer)
    elif show == "first column":
        found["column"] = [row[0] for row in _rows(output) if row[0]]
    elif show == "table":
        shown = without_last_column(output) if step.get("timed") else output
        found["words"] = numbers_and_names(shown, names)
    elif show != "nothing":
        raise ValueError(f"show must be json, table, first column or nothing, got {show!r}")
    if step.get("files"):
        found["files"] = {name: _content(Path(name)) for name in step["files"]}
    return found


def plain(value: Any, key: str = "") -> Any:
    """Return JSON without durations and the words of reasons."""
    if isinstance(value, dict):
        return {k: plain(v, key if key in REASONS else k) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(inner, key) for inner in value]
    if key in DURATIONS:
        return "a duration"
    return "a reason" if key in REASONS and isinstance(value, str) and " " in value else value


def numbers_and_names(text: str, names: set[str]) -> list[str]:
    """Return the numbers and the known names of an output, in order, but not its headings.

    >>> numbers_and_names("┃ policy ┃ loss ┃\\n│ grab │ 1,200 ± 3.5 │\\nIn 95 % of runs.", {"grab"})
    ['grab', '1200', '3.5', '95']
    """
    text = _SECRET.sub("secret", _DAY.sub("day", text))
    text = _SIZE.sub("bytes", text)  # of a file with descriptions of its columns, which are prose
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("┃")]
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    either = re.compile(rf"{_NUMBER.pattern}|(?<![\w-])(?:{known})(?![\w-])")
    return [found[0].replace(",", "") for found in either.finditer("\n".join(lines))]


def without_last_column(text: str) -> str:
    """Return an output without the last column of its tables, which holds durations."""
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(one[:-1].rpartition("│")[0] if one[-1:] == "│" else one for one in lines)


def _rows(text: str) -> list[list[str]]:
    """Return the cells of a table's body."""
    lines = (line.strip() for line in text.splitlines())
    return [[c.strip() for c in one.strip("│").split("│")] for one in lines if one[:1] == "│"]


def _names_in(value: Any, key: str = "") -> set[str]:
    """Return what is a name in JSON: texts without spaces, and keys of what was asked for."""
    if isinstance(value, dict):
        own = {*value} if key in ("estimates", "skipped", "refused") else set()
        return own.union(*(_names_in(inner, k) for k, inner in value.items()))
    if isinstance(value, list):
        return set().union(*(_names_in(inner, key) for inner in value))
    return {value} if isinstance(value, str) and re.fullmatch(r"[a-z][\w/-]+", value) else set()


def _words(line: str) -> list[str]:
    """Return the words of a command line and their parts, but the names of commands."""
    found: list[str] = []
    for word in shlex.split(line):
        found += [word, *(part.strip() for part in re.split("[,=/]", word))]
    return [word for word in dict.fromkeys(found) if word and word not in _command_names()]


def _named(line: str, errors: str) -> list[str]:
    """Return which values a message names, and then which options, with or without dashes."""
    own = [one for one in errors.splitlines() if one.startswith("clickrank: ")]
    text = "\n".join(own) or errors  # Typer's own errors have other lines
    words = _words(line)
    values = named((word for word in words if word not in _option_names()), text)
    options = (word.removeprefix("--") for word in words if word in _option_names())
    return values + named(options, text.replace("--", ""))


def to_record(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return answers to be recorded: an error must go on to name values, or else options."""
    for one in answers:
        if one["exit"] == 2:
            values = [name for name in one["names"] if f"--{name}" not in _option_names()]
            one["names"] = values or one["names"]
    return answers


@functools.cache
def _option_names() -> set[str]:
    return {name for options in all_options().values() for name in options}


@functools.cache
def _command_names() -> set[str]:
    return {word for command in all_options() for word in command.split()}


def _content(path: Path) -> Any:
    """Return what a command has written: numbers of data, kinds of pictures and pages."""
    if path.suffix == ".json":
        return plain(json.loads(path.read_text()))
    if path.suffix == ".npz":
        import numpy as np

        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        # How long a text is depends on the durations in it.
        kinds = {
            name: "text" if a.dtype.kind == "U" else str(a.dtype) for name, a in arrays.items()
        }
        return {name: [kinds[name], list(array.shape)] for name, array in arrays.items()}
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        columns = {field.name: str(field.type) for field in table.schema}
        return {"rows": table.num_rows, "columns": columns}
    pictures = {b"\x89PNG": "png", b"%PDF": "pdf", b"<?xm": "svg", b"<!do": "html", b"<!DO": "html"}
    return pictures[path.read_bytes()[:4]]


def all_options() -> dict[str, Any]:
    """Return every command with its parameters: names, defaults, whether required, and bounds."""
    found: dict[str, Any] = {}

    def walk(command: Any, path: str) -> None:
        arguments = (p for p in command.params if p.param_type_name == "argument")
        options = (p for p in command.params if p.param_type_name == "option")
        found[path] = {f"argument {i}": _option(one) for i, one in enumerate(arguments, 1)}
        found[path] |= {max(one.opts, key=len): _option(one) for one in options}
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{path} {name}")

    walk(get_command(command_line()), "clickrank")
    return found


def _option(param: Any) -> dict[str, Any]:
    default = param.default
    plain_default = default is None or isinstance(default, str | int | float | bool)
    found = {
        "spelled": sorted([*param.opts, *param.secondary_opts]),
        "required": param.required,
        "default": default if plain_default else str(default),
        "flag": getattr(param, "is_flag", False),
        "many": getattr(param, "multiple", False) or param.nargs == -1,
    }
    # Typer has kept bounds in the type of a parameter and in the parameter itself.
    of_type = getattr(param, "type", None)
    bounds = [getattr(param, end, getattr(of_type, end, None)) for end in ("min", "max")]
    if any(end is not None for end in bounds):
        found["bounds"] = bounds
    if param.envvar:
        found["envvar"] = param.envvar
    return found
