"""Names mean one thing; tests mirror the sources, and reach them through public names."""

from __future__ import annotations

import ast
import re
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

#: Functions whose second argument is the name of an attribute of the first.
BY_NAME = {"getattr", "setattr", "delattr", "object"}  # mock.patch.object


def rooms(folder: Path) -> set[str]:
    """Return the packages in a folder."""
    return {path.parent.name for path in folder.glob("*/__init__.py")}


def test_folders_of_tests_are_rooms_and_each_room_has_tests() -> None:
    assert rooms(TESTS) - OTHERS == rooms(SOURCES)
    for room in rooms(SOURCES):
        assert any((TESTS / room).rglob("test_*.py")), room


def modules(room: Path) -> set[str]:
    """Return the names of the modules of a room, at any depth."""
    return {path.stem for path in room.rglob("*.py") if path.stem != "__init__"}


def room_tests() -> list[Path]:
    """Return the test modules that are about a room, relative to the folder of tests."""
    found = (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    return sorted(path for path in found if len(path.parts) > 1 and path.parts[0] not in OTHERS)


def about_nothing(name: str, room: str, text: str) -> str | None:
    """Return why a test module is about nothing in its room; None if it is.

    It is about the module of the room that it is named after. If there is none, it is about a
    feature: it imports a part of the room, or its docstring names the room or a page of `docs`.
    """
    subject = name.removeprefix("test_").removesuffix(".py")
    if subject in modules(SOURCES / room):
        return None
    if subject in modules(SOURCES):
        return "the module of this name is in another room"
    tree = ast.parse(text)
    package = "clickrank." + room.replace("/", ".")
    if any(f"{origin}.".startswith(f"{package}.") for _, _, origin in imported(tree)):
        return None
    words = ast.get_docstring(tree) or ""
    pages = re.findall(r"docs/[\w/-]+\.md", words)
    if pages and all((ROOT / page).is_file() for page in pages):
        return None
    if re.search(rf"\b{Path(room).name}\b", words, re.IGNORECASE):
        return None
    return "there is no module of this name, and nothing else of the room is named or imported"


def test_each_test_module_is_about_its_room() -> None:
    reasons = {
        str(path): about_nothing(path.name, str(path.parent), (TESTS / path).read_text("utf-8"))
        for path in room_tests()
    }
    assert {path: reason for path, reason in reasons.items() if reason} == {}


@pytest.mark.parametrize(
    ("name", "room", "text", "found"),
    [
        ("test_ranker.py", "learning", "", True),
        ("test_top_rank.py", "policies", "", True),
        ("test_ridge.py", "policies", "", True),  # in a package of the room
        ("test_ranker.py", "policies", "import clickrank.policies", False),  # of another room
        ("test_order.py", "learning", "from clickrank.learning import ranker", True),
        ("test_order.py", "learning", "from clickrank import learning", True),
        ("test_order.py", "learning", "import clickrank.fit", False),
        ("test_order.py", "service/api", "import clickrank.service.runtime.fold", False),
        ("test_order.py", "learning", '"""What docs/howto/embed.md says."""', True),
        ("test_order.py", "learning", '"""What docs/howto/nothing.md says."""', False),
        ("test_order.py", "learning", '"""Learning in order."""', True),
        ("test_order.py", "learning", '"""In order."""', False),
    ],
)
def test_modules_about_nothing_are_found(name: str, room: str, text: str, found: bool) -> None:
    assert (about_nothing(name, room, text) is None) == found


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
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE


def has_private_part(origin: str) -> bool:
    """Return whether a dotted name of clickrank passes a private name that is not a module."""
    place = SOURCES
    for name in origin.split(".")[1:]:
        place /= name
        if is_private(name) and not (place.is_dir() or place.with_suffix(".py").is_file()):
            return True
    return False


def imported(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str]]:
    """Find what a file imports from clickrank: the statement, the name used, and its origin."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "clickrank":
            for alias in node.names:
                yield node, alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "clickrank":
                    # Without "as", the statement binds the package, whatever it imports.
                    yield node, alias.asname or "clickrank", alias.name


def called(call: ast.Call) -> str:
    """Return the name of the function or method that is called, without what is before it."""
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def private_uses(text: str) -> Iterator[str]:
    """Find private names of clickrank's modules that a test imports, reads or replaces.

    Names may also be strings, as in ``mock.patch("clickrank.fit.mnl._TABLE")`` or
    ``monkeypatch.setattr(mnl, "_TABLE", 3)``. Fields of objects are not looked at, nor are packages
    whose name begins with an underscore.
    """
    tree = ast.parse(text)
    origins = {name: origin for _, name, origin in imported(tree)}
    origins.update({"clickrank": "clickrank"} if "clickrank" in origins else {})

    def origin_of(node: ast.AST) -> str:
        """Return the dotted name of an expression such as ``cr.fit.mnl``; "" if it is not ours."""
        if isinstance(node, ast.Attribute):
            before = origin_of(node.value)
            return before and f"{before}.{node.attr}"
        return origins.get(node.id, "") if isinstance(node, ast.Name) else ""

    for node, _, origin in imported(tree):
        if has_private_part(origin):
            yield f"{getattr(node, 'lineno', 0)}: {origin}"
    for node in ast.walk(tree):
        used: list[str] = []
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            used = [origin_of(node)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            used = [node.value] if re.fullmatch(r"clickrank(\.\w+)+", node.value) else []
        elif isinstance(node, ast.Call) and called(node) in BY_NAME:
            names = [str(arg.value) for arg in node.args[1:2] if isinstance(arg, ast.Constant)]
            before = origin_of(node.args[0]) if names else ""
            used = [f"{before}.{name}" for name in names if before]
        for origin in used:
            if has_private_part(origin):
                yield f"{getattr(node, 'lineno', 0)}: {origin}"


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
        ("monkeypatch.setattr('clickrank.fit.mnl._log.warning', print)", 1),
        ("monkeypatch.setattr('clickrank._core.rng.streams', print)", 0),
        ("mock.patch('clickrank.fit.mnl._TABLE', 3)", 1),
        ("from clickrank.fit import mnl\nmock.patch.object(mnl, '_TABLE', 3)", 1),
        ("from clickrank.fit import mnl\ngetattr(mnl, '_TABLE')", 1),
        ("from clickrank.fit import mnl\nmnl._log.warning('')", 1),
        ("import clickrank as cr\ncr.fit.mnl._TABLE", 1),
        ("import clickrank.fit.mnl\nclickrank.fit.mnl._TABLE", 1),
        ("import clickrank.fit.mnl\nclickrank._core.rng", 0),
        ("monkeypatch.setattr(thing, '_field', 3)\nthing._field", 0),
        ("from clickrank.policies.uniform import State\nState._fields", 0),
    ],
)
def test_private_uses_are_found(text: str, count: int) -> None:
    assert len(list(private_uses(text))) == count
