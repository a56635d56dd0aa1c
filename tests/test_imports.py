"""What importing the package loads, and the rules for names of modules."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
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
    """Find the names in the ``__init__`` of a package that hide a submodule of the same name.

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


def loaded_by(code: str) -> set[str]:
    """Return the modules that a new process has loaded after running this code."""
    tell = "\nimport sys\nprint('loaded:', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code + tell], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("loaded:")[2].split())


HEAVY = {
    "duckdb", "ibis", "matplotlib", "numba", "numpy", "pyarrow", "scipy", "sqlalchemy", "uvicorn",
}  # fmt: skip


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = loaded_by("import clickrank, clickrank.errors; dir(clickrank)")
    assert "clickrank" in loaded
    assert not HEAVY & loaded
    assert not {"rich", "typer", "msgspec"} & loaded


def test_importing_the_client_loads_neither_numpy_nor_policies() -> None:
    loaded = loaded_by("from clickrank.client import AsyncClient, Client, ServiceError")
    assert "clickrank.service.client.clients" in loaded
    assert not HEAVY & loaded
    own = {name.removeprefix("clickrank.") for name in loaded if name.startswith("clickrank.")}
    rooms = {name.rpartition(".")[0] or name for name in own}
    assert rooms == {"_core", "client", "errors", "service", "service.client", "service.schemas"}
    assert "_core.arrays" not in own


def test_help_loads_nothing_heavy() -> None:
    """Help is printed at once, so nothing that computes or draws is imported for it."""
    from clickrank.cli.app import app

    names = {one.name or getattr(one.callback, "__name__", "") for one in app.registered_commands}
    groups = {str(one.name) for one in app.registered_groups}
    assert {"compare", "serve", "warm"} <= names
    questions = [["--version"], ["--help"], *([name, "--help"] for name in sorted(names | groups))]
    code = f"""
from typer.testing import CliRunner
from clickrank.cli.app import app
for question in {questions!r}:
    found = CliRunner().invoke(app, question)
    assert found.exit_code == 0 and found.stdout, question
"""
    assert not HEAVY & loaded_by(code)


@pytest.mark.parametrize(
    "code",
    [
        "from clickrank import Ranker, simulate; assert callable(simulate)",
        "import clickrank.simulation.comparison as c; assert cr.compare is c.compare",
        "cr.simulate; import clickrank.simulation.simulate_runs; assert callable(cr.simulate)",
        "import clickrank.learning.learner; assert callable(cr.learning.propensities)",
        "import clickrank.evaluate.evaluation; assert callable(cr.evaluate.frozen)",
        "assert cr.policies.GRAB is cr.policies.POLICIES['grab'] is type(cr.policy('grab'))",
        "import clickrank.fast; assert cr.policy('pmed')",
        "assert cr.logs.Counts and cr.learning.Ranker is cr.Ranker",
        "from clickrank import *; assert callable(simulate) and policies.GRAB and errors",
        "assert set(cr.__all__) <= set(dir(cr)); cr.Learner; assert 'Learner' in dir(cr)",
        "assert not any(hasattr(cr, name) for name in ('nothing', 'no.thing', '__wrapped__'))",
        "import pickle; assert pickle.loads(pickle.dumps(cr.policy('grab'))) == cr.policies.GRAB()",
        "import pickle; assert pickle.loads(pickle.dumps(cr.simulate)) is cr.simulate",
    ],
)
def test_public_names_are_there_whatever_was_imported_before(code: str) -> None:
    loaded_by(f"import clickrank as cr; {code}")


def test_every_public_name_is_the_one_of_its_module() -> None:
    for name in clickrank.__all__:
        found = getattr(clickrank, name)
        if inspect.ismodule(found):
            assert found is sys.modules[f"clickrank.{name}"]
        else:
            assert found is getattr(sys.modules[found.__module__], name)


def looks_kernels_up() -> list[str]:
    """Return one module per package that reads the table of kernels, except those that fill it."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if "clickrank.policies.contract import" in path.read_text():
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            found[parts[0]] = ".".join(parts)
    return [module for room, module in found.items() if room not in ("policies", "fast")]


@pytest.mark.parametrize("module", looks_kernels_up())
def test_fast_kernels_are_registered_before_kernels_are_looked_up(module: str) -> None:
    """Otherwise the plain kernels would be found, whose rankings are equal but slower."""
    assert "clickrank.fast.pmed" in loaded_by(f"import clickrank.{module}")
