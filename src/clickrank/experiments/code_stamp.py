"""Code stamps: a hash of the code that decides the numbers of a run.

The stamp of a policy on a click model covers their kernels, the functions, constants and classes
that these use, and the loop that plays the rounds. It leaves out what cannot change a number:
comments, docstrings, annotations, imports, and the names and the order of files. Moving a kernel to
another file, or rewording its documentation, leaves the stamp as it is.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import importlib.util
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from clickrank._core import rng
from clickrank.clickmodels import ClickModel
from clickrank.clickmodels.click_model import model_kernels
from clickrank.learning import rounds
from clickrank.policies import Policy
from clickrank.policies.contract import kernels_of_class
from clickrank.simulation import visits

#: What every run uses besides the kernels of its policy and its click model.
_ENGINE = (rng.streams, rounds.play, *(f for f in vars(visits).values() if inspect.isfunction(f)))


#: Where kernels are. What other rooms do, such as checking values, decides no number.
_ROOMS = (
    *(
        f"clickrank.{r}"
        for r in ("numerics", "rankings", "stats", "clickmodels", "policies", "fast")
    ),
    *(module.__name__ for module in (rng, rounds, visits)),
)


class TopLevelName(NamedTuple):
    """A name that a module defines at its top level."""

    module: str
    name: str


def stamp_of(policy: type[Policy], model: type[ClickModel]) -> str:
    """Return the hash of the code that decides the numbers of a policy on a click model."""
    params, kernels = model_kernels(model)
    roots = (*_policy_roots(policy), params, *kernels, *_ENGINE)
    return _stamp(tuple(dict.fromkeys(place for root in roots for place in _place(root))))


@functools.cache
def _stamp(roots: tuple[TopLevelName, ...]) -> str:
    waiting = list(roots)
    seen: set[TopLevelName] = set()
    texts = set()
    while waiting:
        place = waiting.pop()
        if place in seen or not place.module.startswith(_ROOMS):
            continue
        seen.add(place)
        text, used = _parsed(place.module).get(place.name, ("", ()))
        if text:
            texts.add(text)
            waiting += used
    digest = hashlib.sha256()
    for text in sorted(texts):
        digest.update(f"{len(text)}:{text}".encode())
    return digest.hexdigest()[:16]


def forget() -> None:
    """Forget the stamps, so that files that have changed are read again."""
    _stamp.cache_clear()
    _parsed.cache_clear()


def _policy_roots(policy: type[Policy]) -> Iterator[object]:
    yield policy
    for state, kernels in kernels_of_class(policy):
        yield state
        yield from (part for part in kernels if callable(part))


def _place(value: Any) -> Iterator[TopLevelName]:
    """Yield where a function, kernel or class of clickrank is defined."""
    plain = getattr(value, "py_func", value)
    module = getattr(plain, "__module__", "") or ""
    if module.startswith("clickrank."):
        # Classes of states are renamed for the compiler, so that only their qualified name is left.
        yield TopLevelName(module, plain.__qualname__.partition(".")[0])


Parsed = dict[str, tuple[str, tuple[TopLevelName, ...]]]


@functools.cache
def _parsed(module: str) -> Parsed:
    """Return the text of each definition of a module, and what it uses of clickrank."""
    path = file_of(module)
    if path is None:
        return {}
    tree = ast.parse(path.read_bytes())
    imported = dict(_imports(tree))
    nodes: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in _names(node):
            nodes.setdefault(name, []).append(node)
    found: Parsed = {}
    for name, parts in nodes.items():
        plain = [_without_words(part) for part in parts]
        read = {n.id for part in plain for n in ast.walk(part) if isinstance(n, ast.Name)}
        inside = {TopLevelName(module, other) for other in read & nodes.keys()}
        outside = {imported[other] for other in read & imported.keys()}
        text = "\n".join(ast.unparse(part) for part in plain)
        found[name] = (text, tuple(sorted(inside | outside)))
    # What a package passes on is defined elsewhere.
    for name, place in imported.items():
        found.setdefault(name, ("import", (place,)))
    return found


def file_of(module: str) -> Path | None:
    """Return the file of a module."""
    spec = importlib.util.find_spec(module)
    return None if spec is None or spec.origin is None else Path(spec.origin)


def _imports(tree: ast.Module) -> Iterator[tuple[str, TopLevelName]]:
    """Yield the names that a module takes from other modules of clickrank."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clickrank"):
            for alias in node.names:
                yield alias.asname or alias.name, TopLevelName(str(node.module), alias.name)


def _names(node: ast.stmt) -> list[str]:
    """Return the names that a statement at the top level defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


class _Stripper(ast.NodeTransformer):
    """Removes docstrings and annotations."""

    def _visit_block(self, node: Any) -> ast.AST:
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
        return _cast(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._visit_block(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._visit_block(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        # The fields of a NamedTuple and of a dataclass count, their types do not.
        node.annotation = ast.Name("_", ast.Load())
        self.generic_visit(node)
        return node


def _without_words(node: ast.stmt) -> ast.stmt:
    """Return a copy of a definition without docstrings and annotations."""
    stripped: ast.stmt = _Stripper().visit(copy.deepcopy(node))
    return stripped


def _cast(node: Any) -> ast.AST:
    found: ast.AST = node
    return found
