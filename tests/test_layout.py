"""Names mean one thing; tests mirror the sources, and reach them through public names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

SOURCES, TESTS = ROOT / "src" / "clickrank", ROOT / "tests"
#: Folders of tests about something that is not a room of the package.
OTHERS = {"benchmarks", "browser", "data", "examples", "proof", "replay"}

#: Rooms that mirror another one: a file there serves the file of the same path in the other room.
MIRRORS = {"fast": "policies", "fit": "clickmodels"}
#: Each file of a policy has its own statistics, constants and cache, with these names.
OWN_OF_POLICIES = ("Cache", "Params", "State")

#: Public methods of NamedTuples, whatever their names look like.
NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}


def rooms(folder: Path) -> set[str]:
    """Return the packages in a folder."""
    return {path.parent.name for path in folder.glob("*/__init__.py")}


def test_folders_of_tests_are_rooms_and_each_room_has_tests() -> None:
    assert rooms(TESTS) - OTHERS == rooms(SOURCES)
    for room in rooms(SOURCES):
        assert any((TESTS / room).rglob("test_*.py")), room


def mirrored(path: Path) -> Path:
    """Return the path of the file that a file mirrors, or its own path."""
    room, *rest = path.parts
    return Path(MIRRORS.get(room, room), *rest)


def names_used_twice(files: dict[Path, str]) -> list[str]:
    """Find modules and public classes of one name. Paths are relative to the package."""
    modules: dict[str, set[Path]] = {}
    classes: dict[str, set[Path]] = {}
    for path, text in files.items():
        if path.name != "__init__.py":
            modules.setdefault(path.stem, set()).add(mirrored(path))
        of_policies = path.parts[0] in ("policies", "fast")
        for node in ast.parse(text).body:
            if not isinstance(node, ast.ClassDef) or is_private(node.name):
                continue
            if not (of_policies and node.name.endswith(OWN_OF_POLICIES)):
                classes.setdefault(node.name, set()).add(path)
    return [
        f"{name}: {', '.join(sorted(path.as_posix() for path in paths))}"
        for found in (modules, classes)
        for name, paths in sorted(found.items())
        if len(paths) > 1
    ]


def test_no_two_modules_and_no_two_public_classes_share_a_name() -> None:
    files = {
        path.relative_to(SOURCES): path.read_text(encoding="utf-8")
        for path in SOURCES.rglob("*.py")
    }
    assert names_used_twice(files) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"logs/a.py": "", "fast/_shared/a.py": ""}, ["a: logs/a.py, policies/_shared/a.py"]),
        ({"policies/a.py": "", "fast/a.py": "", "fit/b.py": "", "clickmodels/b.py": ""}, []),
        ({"logs/a.py": "class A: ...", "fit/b.py": "class A: ..."}, ["A: fit/b.py, logs/a.py"]),
        ({"policies/a.py": "class State: ...", "policies/b.py": "class State: ..."}, []),
        ({"logs/a.py": "class _A: ...", "logs/b.py": "class _A: ..."}, []),
        ({"logs/__init__.py": "", "fit/__init__.py": ""}, []),
    ],
)
def test_names_used_twice_are_found(files: dict[str, str], expected: list[str]) -> None:
    assert names_used_twice({Path(path): text for path, text in files.items()}) == expected


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
