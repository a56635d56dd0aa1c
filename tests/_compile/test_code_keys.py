"""Machine code is kept by a key that changes with whatever is compiled into it, and only then."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clickrank
import clickrank.fast
from clickrank._compile import jit
from clickrank._compile.code_keys import Unknown, code_key
from clickrank.checks import example_models
from clickrank.clickmodels import CLICK_MODELS
from clickrank.clickmodels.click_model import code_of
from clickrank.numerics import assignment, pbm_kl_index
from clickrank.policies import POLICIES, contract
from clickrank.rankings import selection

SOURCE = '''
import collections
import enum
import math
import numpy as np
from numba import int32 as integer
from clickrank.kernels import kernel
from clickrank.policies.contract import rank
import OTHER

LIMIT = 3
TABLE = np.array([1.0, 2.0])
PAIR = (1, 0.5)
UNUSED = 7
Settings = collections.namedtuple("Settings", "low high")
SETTINGS = Settings(1, 2)

def make(power):
    def raised(x):
        return x ** power
    return kernel(raised)

raised = make(2)

@kernel
def helper(x, scale=1.0):
    """Scale it."""
    return math.log(x) * scale + LIMIT

def top(x):
    # a comment
    for i in range(2):
        x += helper(x) + TABLE[i] + PAIR[1] + OTHER.offset(x)
    x += SETTINGS.low
    return raised(x) if x > 1.5 else x

def calls_top(x):
    return top(x) + rank(x)

def unused(x):
    return UNUSED
'''
OTHER = "def offset(x):\n    return x - 1\n"


def key_of(source: str = SOURCE, other: str = OTHER) -> str:
    """Return the key of a function of a new module that imports another."""
    modules = {name: types.ModuleType(name) for name in ("keyed_other", "keyed")}
    sys.modules.update(modules)
    exec(other, vars(modules["keyed_other"]))
    exec(source.replace("OTHER", "keyed_other"), vars(modules["keyed"]))
    return code_key(vars(modules["keyed"])["calls_top"])


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    yield
    for name in ("keyed", "keyed_other", "keyed_pair", "keyed_reader"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", "LIMIT = 3.0"),
        ("[1.0, 2.0]", "[1.0, 2.5]"),
        ("[1.0, 2.0]", "[1, 2]"),
        ("PAIR = (1, 0.5)", "PAIR = (2, 0.5)"),
        ("make(2)", "make(3)"),
        ("x ** power", "power ** x"),
        ("scale=1.0", "scale=2.0"),
        ("math.log(x)", "math.exp(x)"),
        ("* scale + LIMIT", "* scale - LIMIT"),
        ("range(2)", "range(3)"),
        ("x > 1.5", "x >= 1.5"),
        ("import kernel", "import lean_kernel as kernel"),
        ("@kernel\ndef helper", "def helper"),
        ("import rank", "import update as rank"),
        ('"low high"', '"high low"'),
    ],
)  # fmt: skip
def test_a_change_in_what_is_called_changes_the_key(old: str, new: str) -> None:
    assert old in SOURCE
    assert key_of(SOURCE.replace(old, new)) != key_of()


def test_a_change_behind_a_module_changes_the_key() -> None:
    assert key_of(other=OTHER.replace("1", "2")) != key_of()
    assert key_of(other=OTHER + "UNUSED = 1\n") == key_of()


def test_a_change_behind_a_package_that_imports_late_changes_the_key() -> None:
    late = f"""{OTHER.replace("offset", "later")}
def __getattr__(name):
    if name == "offset":
        return later
    raise AttributeError(name)
"""
    assert key_of(other=late.replace("1", "2")) != key_of(other=late)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Scale it."""', '"""Scale it, and say so."""'),
        ("# a comment", "# another\n"),
        ("UNUSED = 7", "UNUSED = 8"),
        ("return UNUSED", "return -UNUSED"),
        ("def top(x):", "\n\ndef top(x):"),
    ],
)
def test_a_change_that_is_not_compiled_leaves_the_key(old: str, new: str) -> None:
    assert old in SOURCE
    assert key_of(SOURCE.replace(old, new)) == key_of()


# Numba would compile an enumeration, and the call of a number's type.
@pytest.mark.parametrize(
    "value",
    ["{}", "[1]", "object()", "np.array([None])", "enum.IntEnum('E', 'a b')", "integer"],
)
def test_what_has_no_key_is_refused(value: str) -> None:
    with pytest.raises(Unknown):
        key_of(SOURCE.replace("LIMIT = 3", f"LIMIT = {value}"))


def pair_of(folder: Path, fields: str) -> Any:
    """Compile a function of a NamedTuple defined in another file, and call it."""
    (folder / "keyed_pair.py").write_text(
        f"import collections\nPair = collections.namedtuple('Pair', '{fields}')\n"
    )
    reader = folder / "keyed_reader.py"
    if not reader.exists():  # Numba looks at the time at which it was written
        reader.write_text("def low(pair):\n    return pair.low\n")
    found: dict[str, Any] = {}
    for name in ("keyed_pair", "keyed_reader"):
        path = folder / f"{name}.py"
        found[name] = sys.modules[name] = types.ModuleType(name)
        exec(compile(path.read_text(), str(path), "exec"), vars(found[name]))
    compiled: Any = jit.kernel_for(found["keyed_reader"].low, "")
    result = compiled(found["keyed_pair"].Pair(low=1.0, high=2.0))
    return result, sum(compiled.stats.cache_hits.values())


def test_fields_that_change_places_are_not_read_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLICKRANK_CACHE_DIR", str(tmp_path / "cache"))
    assert pair_of(tmp_path, "low high") == (1.0, 0)
    assert pair_of(tmp_path, "low high") == (1.0, 1)
    assert pair_of(tmp_path, "high low") == (1.0, 0)


def test_classes_of_others_are_known_by_their_files_too() -> None:
    kernel = assignment.assign
    assert jit.code_of("a hash", kernel) != jit.code_of("another", kernel)
    assert jit.code_of("a hash", kernel) == jit.code_of("a hash", kernel)


def kernels_of_class(cls: type) -> list[Any]:
    found = [kernels for _, kernels in contract.kernels_of_class(cls)]
    return [kernel for kernels in found for kernel in kernels[:3] if kernel is not None]


def policy_keys() -> dict[str, str]:
    found = {}
    for name, cls in POLICIES.items():
        found[name] = code_key(*kernels_of_class(cls))
    return found


def test_every_policy_and_click_model_has_a_key() -> None:
    assert len(policy_keys()) == len(POLICIES)
    for model in CLICK_MODELS.values():
        for one in example_models(model, 4, 3, seed=0):
            # Neither the hash of all sources, which stands for what has no key, nor nothing.
            assert code_of(one) not in (None, jit.fingerprint(""))


def functions_kept_on_disk() -> dict[str, object]:
    """Return the functions that clickrank's own files have compiled and kept, by file and name."""
    root, found = Path(clickrank.__file__).parent, {}
    for path in root.rglob("*.py"):
        text = path.read_text()
        if "kernel_for(" not in text and " callback(" not in text:
            continue
        parts = path.relative_to(root.parent).with_suffix("").parts
        scope = vars(importlib.import_module(".".join(parts)))
        for node in ast.walk(ast.parse(text)):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and called.endswith(("kernel_for", "callback")):
                name = ast.unparse(node.args[1 if called == "callback" else 0])
                if name.partition(".")[0] in scope:  # else it is an argument
                    found[f"{path.stem}.{name}"] = eval(name, scope)
    return found


def test_every_function_kept_on_disk_has_a_key() -> None:
    """Without one its machine code would be kept by the files of policies and models alone."""
    found = functions_kept_on_disk()
    assert len(found) > 15
    assert {"rounds.play", "visits._visit_at", "chooser._restore_at"} <= set(found)
    assert all(code_key(function) for function in found.values())


def imports(module: str) -> set[str]:
    """Return the modules of clickrank that a module's file imports, itself included."""
    path = Path(clickrank.__file__).parent / (module.partition(".")[2].replace(".", "/") + ".py")
    found = {module}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clickrank."):
            found.add(str(node.module))
    return found


@functools.cache
def imports_of_all(module: str) -> set[str]:
    found: set[str] = set()
    new = {module}
    while new:
        found |= new
        files = {name for name in new if not hasattr(sys.modules[name], "__path__")}
        new = {other for name in files for other in imports(name)} - found
    return found


@pytest.fixture(scope="module")
def keys() -> dict[str, str]:
    return policy_keys()


@pytest.mark.parametrize(
    "helper",
    [selection.renew_top_k, pbm_kl_index.kl_index, assignment.assign],
    ids=lambda h: h.__name__,
)
def test_a_changed_helper_changes_its_users_keys(
    helper: Any, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = helper.py_func.__code__
    names = (*code.co_varnames, "one_more")
    changed_code = code.replace(co_varnames=names, co_nlocals=len(names))
    monkeypatch.setattr(helper.py_func, "__code__", changed_code)
    changed = {name for name, key in policy_keys().items() if key != keys[name]}
    can_reach = {
        name for name, cls in POLICIES.items()
        if helper.__module__ in imports_of_all(cls.__module__)
    }  # fmt: skip
    calls = {name for name, cls in POLICIES.items() if helper in direct_calls(cls)}
    assert 0 < len(changed) < len(POLICIES)
    assert calls <= changed <= can_reach


@pytest.mark.parametrize("helper", [selection.drawn_top_k_of, selection.top_k_of])
def test_the_key_of_a_scorer_counts_what_sorts(
    helper: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("cascade-lin-ts", "recurrank")  # only the first has its scores sorted by the engine

    def keys() -> list[str | None]:
        contract.machine_code_key.cache_clear()
        return [contract.machine_code_key(POLICIES[name]) for name in names]

    before = keys()
    code = helper.py_func.__code__
    variables = (*code.co_varnames, "one_more")
    changed_code = code.replace(co_varnames=variables, co_nlocals=len(variables))
    monkeypatch.setattr(helper.py_func, "__code__", changed_code)
    after = keys()
    monkeypatch.undo()
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert keys() == before


def direct_calls(policy: type) -> list[object]:
    kernels = kernels_of_class(policy)
    return [
        kernel.__globals__[name]
        for kernel in kernels
        for name in kernel.__code__.co_names
        if name in kernel.__globals__
    ]


def test_the_fingerprint_covers_the_files_of_all_kernels() -> None:
    root = Path(clickrank.__file__).parent
    for pattern in jit.KERNEL_FILES:
        assert any(root.glob(pattern)), f"no file is named {pattern}"
    covered = {root / name for name, _ in jit.kernel_sources()}
    have_kernels = {
        path for path in root.rglob("*.py")
        if re.search(r"^@(\w+_)?kernel\b", path.read_text(), re.MULTILINE)
    }  # fmt: skip
    assert {path.parent.name for path in have_kernels} >= {"fast", "learning", "numerics"}
    assert have_kernels - covered == {root / "priors" / "letor_lines.py"}  # which reads text
    assert covered >= set((root / "simulation").glob("*.py"))
