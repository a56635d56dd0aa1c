"""What imports load, and how modules may be named."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import clickrank

PACKAGE = Path(clickrank.__file__).parent


def defined(tree: ast.Module) -> set[str]:
    """Return the functions and classes that a module defines."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds) and node in tree.body}


def submodules(package: Path) -> set[str]:
    """Return the names of the modules and packages in a folder."""
    files = {path.stem for path in package.glob("*.py")} - {"__init__"}
    return files | {path.parent.name for path in package.glob("*/__init__.py")}


def hidden(package: Path, tree: ast.Module, name: str) -> Iterator[str]:
    """Find the names of a package's ``__init__`` that stand for something else than a submodule.

    Importing the submodule later would replace them.
    """
    modules = submodules(package)
    yield from defined(tree) & modules
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module != name:
            yield from {alias.asname or alias.name for alias in node.names} & modules


def violations(root: Path) -> list[str]:
    """Find functions named like their module, and names that importing a submodule would hide."""
    found = []
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text())
        is_package = path.name == "__init__.py"
        module = path.parent if is_package else path.with_suffix("")
        name = ".".join(module.relative_to(root.parent).parts)
        found += [f"{name}.{one}" for one in defined(tree) if one == module.name]
        if is_package:
            found += [f"{name}.{one}" for one in hidden(module, tree, name)]
    return found


def test_no_function_is_named_like_its_module() -> None:
    assert violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pkg/a.py": "def a(): ..."}, ["pkg.a.a"]),
        ({"pkg/a.py": "async def a(): ..."}, ["pkg.a.a"]),
        ({"pkg/b/__init__.py": "def b(): ..."}, ["pkg.b.b"]),
        ({"pkg/__init__.py": "from pkg.a import b", "pkg/b.py": ""}, ["pkg.b"]),
        ({"pkg/__init__.py": "def b(): ...", "pkg/b/__init__.py": ""}, ["pkg.b"]),
        ({"pkg/__init__.py": "from pkg import b", "pkg/b.py": "def a(): ..."}, []),
        ({"pkg/a.py": "class Page:\n    def a(self): ..."}, []),
    ],
)
def test_violations_are_found(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert violations(tmp_path / "pkg") == expected
