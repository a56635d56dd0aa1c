"""Facts about a policy or a click model are on its class: no other module names one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from clickrank.clickmodels import CLICK_MODELS
from clickrank.policies import POLICIES
from tests.paths import ROOT

SOURCES = ROOT / "src" / "clickrank"
#: The rooms of policies and click models, where they are defined, fitted and compiled.
HOMES = {"clickmodels", "fast", "fit", "policies"}
#: Names of policies and click models that other modules may have, each with the reason.
ALLOWED = {
    "a default that people see": {"_core/defaults.py": {"pbm", "pb-mhb"}},
    "the default of a key of TOML files": {"experiments/model_sources.py": {"cascade", "dctr"}},
    "the name of a bound in TOML files, which the paper states for this click model": {
        "experiments/figure_spec.py": {"pbm"},
        "experiments/paper_files.py": {"pbm"},
        "experiments/runner.py": {"pbm", "PBM"},
    },
    "the paper defines the bound on this click model": {
        "bounds/gauthier_2022.py": {"Cascade", "PBM"},
        "bounds/lagree_2016.py": {"DCTR", "PBM"},
        "experiments/horizon_bounds.py": {"Cascade", "DCM", "DCTR"},
    },
    "the paper fits this click model to its data": {"experiments/kdd_queries.py": {"PBM"}},
    "the click model of the demonstration's visitors": {"cli/demo_visitors.py": {"PBM"}},
    "an example of an answer": {"service/api/examples.py": {"pb-mhb"}},
    "how the lists of a log were drawn, not the policy": {
        "cli/evaluate_command.py": {"uniform"},
        "evaluate/evaluation.py": {"uniform"},
        "evaluate/log_propensities.py": {"uniform"},
    },
}


def names_in(text: str) -> Iterator[str]:
    """Find string literals that are registered names, and imports of registered classes."""
    classes = {cls.__name__ for cls in (*POLICIES.values(), *CLICK_MODELS.values())}
    names = {*POLICIES, *CLICK_MODELS}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
            yield node.value
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clickrank"):
            yield from (alias.name for alias in node.names if alias.name in classes)


def test_no_other_module_names_a_policy_or_a_click_model() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        inside = path.relative_to(SOURCES)
        names = set(names_in(path.read_text(encoding="utf-8")))
        if names and inside.parts[0] not in HOMES:
            found[inside.as_posix()] = names
    allowed = {file: names for files in ALLOWED.values() for file, names in files.items()}
    assert found == allowed


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("fit('pbm', counts)", ["pbm"]),
        ("def run(policy='grab'): ...", ["grab"]),
        ("from clickrank.policies import GRAB, Policy", ["GRAB"]),
        ("from clickrank.clickmodels.pbm import PBM as Model", ["PBM"]),
        ("'the pbm of grab'\nname = 'pbm clicks'", []),
        ("from clickrank.policies import POLICIES\nPOLICIES[name]", []),
    ],
)
def test_names_are_found(text: str, names: list[str]) -> None:
    assert list(names_in(text)) == names
