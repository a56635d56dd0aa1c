"""The skeleton and its page: a policy from outside the package is one like any other."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import io
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import clickrank as cr
from clickrank.checks import check_click_model, check_policy
from clickrank.clickmodels import CLICK_MODELS
from clickrank.errors import DoesNotApply
from clickrank.policies import POLICIES, pbm_kl_ucb
from clickrank.policies.contract import has_fast_kernels
from tests.paths import DOCS

DOCS = DOCS / "developer"
SKELETON = DOCS / "skeleton_policy.py"
PAGE = DOCS / "adding-a-policy.md"


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def foreign() -> Iterator[None]:
    """Forget what a test registers: other tests go through the registries."""
    policies, models = set(POLICIES), set(CLICK_MODELS)
    yield
    for name in set(POLICIES) - policies:
        POLICIES.remove(name)
    for name in set(CLICK_MODELS) - models:
        CLICK_MODELS.remove(name)


@pytest.fixture
def skeleton(foreign: None) -> ModuleType:
    return load("skeleton_policy", SKELETON)


def code_lines(source: str) -> set[int]:
    """Numbers of the lines that are not blank, comments or docstrings."""
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    blank |= {tokenize.ENCODING, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in blank:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            assert text.end_lineno is not None
            lines.difference_update(range(text.lineno, text.end_lineno + 1))
    return lines


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_line_counter() -> None:
    assert code_lines('"""Doc\nstring."""\n\n# note\nx = [\n    1,\n]  # more\n') == {5, 6, 7}


def test_skeleton_is_short() -> None:
    assert len(code_lines(SKELETON.read_text())) < 60


def test_skeleton_passes_the_checks(skeleton: ModuleType) -> None:
    check_policy(skeleton.Skeleton)


def test_skeleton_example(skeleton: ModuleType) -> None:
    assert doctest.testmod(skeleton).failed == 0


def test_skeleton_in_the_comparison(skeleton: ModuleType) -> None:
    model = cr.clickmodels.PBM([0.6, 0.5, 0.4, 0.3, 0.2], [0.9, 0.6, 0.3])
    policies = ["skeleton", "pbm-ts", "uniform"]
    table = cr.compare(policies, model, horizon=3000, runs=8, seed=0)
    assert [row.policy for row in table.summary()] == ["pbm-ts", "skeleton", "uniform"]
    assert "skeleton" in str(table.summary())


def without_docstrings(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        if documented and ast.get_docstring(node) is not None:  # type: ignore[arg-type]
            node.body = node.body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def test_page_shows_the_skeleton_and_the_rest_runs(
    skeleton: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    file: list[str] = []
    use: list[str] = []
    for block in blocks("python"):
        (use if use or (file and file[-1].startswith("register(")) else file).append(block)
    assert without_docstrings("\n".join(file)) == without_docstrings(SKELETON.read_text())
    names: dict[str, object] = {}
    for block in use:
        # The policy's checks have a test of their own.
        exec(block.replace("\ncheck_policy(Skeleton)\n", "\n"), names)
    printed = capsys.readouterr().out
    assert "skeleton" in printed
    assert "ε = 0.02" in printed


def test_the_fast_file(skeleton: ModuleType) -> None:
    fast = DOCS / "skeleton_fast.py"
    assert blocks("py") == [fast.read_text()]
    model = cr.clickmodels.PBM([0.6, 0.5, 0.4, 0.3, 0.2], [0.9, 0.6, 0.3])
    plain = cr.simulate("skeleton", model, horizon=2000, runs=2, seed=0).regret
    assert not has_fast_kernels(skeleton.Skeleton)
    load("skeleton_fast", fast)
    assert has_fast_kernels(skeleton.Skeleton)
    for reference in (False, True):
        spec = cr.policy("skeleton", reference=reference)
        assert np.array_equal(cr.simulate(spec, model, 2000, runs=2, seed=0).regret, plain)
    check_policy(skeleton.Skeleton)


def test_a_wrong_cache_is_found(skeleton: ModuleType, tmp_path: Path) -> None:
    source = (DOCS / "skeleton_fast.py").read_text()
    renewed = "            cache.rate[item] = state.clicks[item] / state.views[item]\n"
    assert renewed in source
    wrong = tmp_path / "wrong_cache.py"
    wrong.write_text(source.replace(renewed, ""))
    load("wrong_cache", wrong)
    with pytest.raises(AssertionError, match=r"without its cache|the reference"):
        check_policy(skeleton.Skeleton)


LEARNED = "state.clicks[item] / state.views[item]"
SIMULATE = """
import clickrank as cr
model = cr.clickmodels.PBM([0.9, 0.6, 0.3, 0.1], [0.9, 0.5])
print(cr.simulate({name!r}, model, horizon=1000, runs=2, seed=0).regret[:, -1].mean())
"""
LOAD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location({module!r}, {path!r})
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[spec.name])
"""


class Lab:
    """Runs policies in new processes, which share a cache of machine code and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "code"
        self.folder.mkdir()
        self.environment = {**os.environ, "CLICKRANK_CACHE_DIR": str(folder / "cache")}

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def run(self, *arguments: str, **environment: str) -> float:
        done = subprocess.run(
            [sys.executable, *arguments],
            env=self.environment | environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    def regret(self, module: str, path: Path, name: str = "skeleton", **environment: str) -> float:
        code = LOAD.format(module=module, path=str(path)) + SIMULATE.format(name=name)
        return self.run("-c", code, **environment)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.mark.slow
def test_a_changed_file_is_compiled_anew(lab: Lab) -> None:
    source = SKELETON.read_text()
    first = lab.regret("one", lab.write("policy.py", source))
    worst = source.replace(LEARNED, f"-{LEARNED}")
    assert lab.regret("two", lab.write("policy.py", worst)) > 3 * first
    assert lab.regret("one", lab.write("policy.py", source)) == first


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_debugging_switches_find_an_index_out_of_range(lab: Lab, switch: str) -> None:
    wrong = SKELETON.read_text().replace("range(score.size)", "range(99)")
    path = lab.write("wrong.py", wrong)
    with pytest.raises(AssertionError, match="IndexError"):
        lab.regret("wrong", path, **{switch: "1"})


@pytest.mark.slow
def test_switched_off_numba_gives_the_same_numbers(lab: Lab) -> None:
    compiled = lab.regret("skeleton_policy", SKELETON)
    assert lab.regret("skeleton_policy", SKELETON, NUMBA_DISABLE_JIT="1") == compiled


@pytest.mark.slow
def test_a_script_runs_twice(lab: Lab) -> None:
    script = lab.write("script.py", SKELETON.read_text() + SIMULATE.format(name="skeleton"))
    assert lab.run(str(script)) == lab.run(str(script))


@pytest.mark.slow
def test_a_file_may_be_imported_by_another_name(lab: Lab) -> None:
    path = lab.write("policy.py", SKELETON.read_text())
    assert lab.regret("one", path) == lab.regret("two", path)


@pytest.mark.slow
def test_a_changed_helper_is_compiled_anew(lab: Lab) -> None:
    source = SKELETON.read_text().replace(LEARNED, "rate(state.clicks[item], state.views[item])")
    imports = f"import sys\nsys.path.insert(0, {str(lab.folder)!r})\nfrom helper import rate\n"
    helper = "from clickrank.kernels import kernel\n@kernel\ndef rate(s, n):\n    return {}s / n\n"
    path = lab.write("policy.py", source.replace("import math\n", "import math\n" + imports))
    lab.write("helper.py", helper.format(""))
    first = lab.regret("policy", path)
    lab.write("helper.py", helper.format("-"))
    assert lab.regret("policy", path) > 3 * first


@pytest.mark.slow
def test_a_policy_that_uses_our_kernels_leaves_ours_alone(lab: Lab) -> None:
    source = inspect.getsource(pbm_kl_ucb).replace("PBMKLUCB", "Mine").replace("pbm-kl-ucb", "mine")
    mine = lab.regret("mine", lab.write("mine.py", source), name="mine")
    assert lab.run("-c", SIMULATE.format(name="pbm-kl-ucb")) == mine


AGAIN = """
import sys, types
import clickrank as cr
module = sys.modules["prompt"] = types.ModuleType("prompt")  # no file, as in a notebook
model = cr.clickmodels.PBM([0.9, 0.6, 0.3, 0.1], [0.9, 0.5])
means = []
for text in {sources!r}:
    exec(text, module.__dict__)
    means.append(cr.simulate("skeleton", model, horizon=1000, runs=2).regret[:, -1].mean())
print(means[1] / means[0])
"""


@pytest.mark.slow
def test_a_policy_may_be_defined_again(lab: Lab) -> None:
    source = SKELETON.read_text()
    worst = source.replace(LEARNED, f"-{LEARNED}")
    assert lab.run("-c", AGAIN.format(sources=[source, worst])) > 3


SLIPS = '''"""Users who sometimes click by mistake."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank.kernels import kernel, match_by_rank
from clickrank.clickmodels.click_model import ClickModel, Kernels, register
from clickrank._core.arrays import Floats, probabilities
from clickrank._core.validate import check_float


class Params(NamedTuple):
    attraction: Floats
    slip: float


class Slips(ClickModel):
    name = "slips"
    reward = "clicks"
    is_a = ("slips",)

    def __init__(self, attraction, n_positions, slip=0.1):
        self._set_shape(probabilities("Slips", "attraction", attraction), n_positions)
        self.slip = check_float("Slips", "slip", slip, 0.0, 1.0)
        self.params = Params(self.attraction, self.slip)

    def relabelled(self, order):
        return Slips(self.attraction[order], self.n_positions, self.slip)


@kernel
def _p(attraction, slip):
    return 1.0 - (1.0 - attraction) * (1.0 - slip)


def _sample(params, ranking, rng, out):
    for i in range(ranking.shape[0]):
        out[i] = 1 if rng.random() < _p(params.attraction[ranking[i]], params.slip) else 0


def _log_prob(params, ranking, clicks):
    total = 0.0
    for i in range(ranking.shape[0]):
        p = _p(params.attraction[ranking[i]], params.slip)
        p = p if clicks[i] == 1 else 1.0 - p
        if p <= 0.0:
            return -math.inf
        total += math.log(p)
    return total


def _click_probabilities(params, ranking, out):
    for i in range(ranking.shape[0]):
        out[i] = _p(params.attraction[ranking[i]], params.slip)


def _value(params, ranking):
    total = 0.0
    for i in range(ranking.shape[0]):
        total += _p(params.attraction[ranking[i]], params.slip)
    return total


def _best_ranking(params, out):
    match_by_rank(params.attraction, np.ones(out.shape[0]), out)


register(Slips, Params, Kernels(_sample, _log_prob, _click_probabilities, _value, _best_ranking))
'''


def test_a_click_model_from_outside(tmp_path: Path, skeleton: ModuleType) -> None:
    path = tmp_path / "slips_model.py"
    path.write_text(SLIPS)
    slips = load("slips_model", path).Slips
    check_click_model(slips([0.5, 0.2, 0.4, 0.0], 3))
    model = slips([0.8, 0.6, 0.4, 0.2, 0.1], 2)
    table = cr.compare(["skeleton", "rba-kl-ucb", "uniform"], model, horizon=2000, runs=4, seed=0)
    assert table.summary()[-1].policy == "uniform"
    with pytest.raises(DoesNotApply, match="assumes pbm clicks, not slips"):
        cr.simulate(cr.policies.PBMUCB([0.9, 0.5]), model, horizon=10)
    mismatched = cr.simulate(cr.policies.PBMUCB([0.9, 0.5]), model, 10, allow_mismatch=True)
    assert np.isfinite(mismatched.regret).all()
