"""Tests mirror the sources, and reach them through public names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

SOURCES, TESTS = ROOT / "src" / "clickrank", ROOT / "tests"
#: Folders of tests about something that is not a room of the package.
OTHERS = {"benchmarks", "browser", "data", "examples", "proof", "replay"}

#: Public methods of NamedTuples, whatever their names look like.
NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}


def rooms(folder: Path) -> set[str]:
    """Return the packages in a folder."""
    return {path.parent.name for path in folder.glob("*/__init__.py")}


def test_folders_of_tests_are_rooms_and_each_room_has_tests() -> None:
    assert rooms(TESTS) - OTHERS == rooms(SOURCES)
    for room in rooms(SOURCES):
        assert any((TESTS / room).rglob("test_*.py")), room


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def imported(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str]]:
    """Find what a file imports from clickrank: the statement, the name used, and its origin."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "clickrank":
            for alias in node.names:
                yield node, alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "clickrank":
                    yield node, alias.asname or "clickrank", alias.name


def private_uses(text: str) -> Iterator[str]:
    """Find private names of clickrank's modules that a test imports, reads or replaces.

    Fields of objects are not looked at, nor are packages whose name begins with an underscore.
    """
    tree = ast.parse(text)
    known = {name for _, name, _ in imported(tree)}
    for node, _, origin in imported(tree):
        found = SOURCES.joinpath(*origin.split(".")[1:])
        is_module = found.is_dir() or found.with_suffix(".py").is_file()
        if is_private(origin.rpartition(".")[2]) and not is_module:
            yield f"{getattr(node, 'lineno', 0)}: {origin}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            of_ours = isinstance(node.value, ast.Name) and node.value.id in known
            if of_ours and node.attr not in NAMED_TUPLE:
                yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr"):
            of_ours = isinstance(node.args[0], ast.Name) and node.args[0].id in known
            for name in (str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)):
                ours = of_ours or name.startswith("clickrank.")
                if ours and is_private(name.rpartition(".")[2]):
                    yield f"{node.lineno}: {ast.unparse(node)}"


def test_tests_use_public_names() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{use}"
        for path in sorted(TESTS.rglob("*.py"))
        if not path.is_relative_to(TESTS / "data")
        for use in private_uses(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("from clickrank.fast.uni_rank import _weigh", 1),
        ("from clickrank._core.arrays import Ints", 0),
        ("from clickrank.policies._shared import ridge", 0),
        ("from clickrank._compile import jit\njit._machine()", 1),
        ("import clickrank as cr\ncr._private", 1),
        ("from clickrank.fit import mnl\nmonkeypatch.setattr(mnl, '_TABLE', 3)", 1),
        ("monkeypatch.setattr('clickrank.fit.mnl._TABLE', 3)", 1),
        ("monkeypatch.setattr(thing, '_field', 3)\nthing._field", 0),
        ("from clickrank.policies.uniform import State\nState._fields", 0),
    ],
)
def test_private_uses_are_found(text: str, count: int) -> None:
    assert len(list(private_uses(text))) == count
