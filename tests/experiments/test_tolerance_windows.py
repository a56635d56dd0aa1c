"""One table of tolerances for all papers: where each claim's limits come from."""

from __future__ import annotations

import itertools
import re
import tomllib
from typing import Any

import pytest

from clickrank.experiments import list_experiments
from clickrank.experiments.claim_kinds import (
    BestOf,
    CatchUp,
    Order,
    Ratio,
    Value,
    Windowed,
    curves_of,
)
from clickrank.experiments.paper_files import PAPERS
from clickrank.experiments.tolerance_windows import WINDOWS, limits_of, printed
from tests.paths import DOCS

DOCS = DOCS / "developer" / "adding-an-experiment.md"
TABLES = [
    (path.parent.name, claim)
    for path in sorted(PAPERS.glob("*/expected.toml"))
    for claim in tomllib.loads(path.read_text(encoding="utf-8"))["claims"]
]


def test_no_claim_has_a_tolerance_of_its_own() -> None:
    """What a claim may say in numbers: its window's value, or limits that the paper gives."""
    allowed = {"value", "digits", "rounds", "decimals", "lowest", "highest"}
    allowed |= {"share", "first", "last"}
    for paper, claim in TABLES:
        numbers = {k for k, v in claim.items() if isinstance(v, int | float)} - allowed
        if claim.get("window") == "as stated":
            numbers -= {"low", "high"}
        assert not numbers, f"{paper} {claim['id']}: {numbers}"


@pytest.mark.parametrize("name", WINDOWS)
def test_the_factors_are_those_of_the_rule(name: str) -> None:
    """Half way to twice, or to ten times, on a log axis; 1 where no tolerance is needed."""
    window = WINDOWS[name]
    if name in ("few", "some"):
        assert 0 <= window.low < 1
        return
    factors = {round(x * x, 9) for x in (window.low, window.high) if 0 < x < float("inf")}
    assert factors
    assert factors <= {1.0, 2.0, 0.5, 10.0, 0.1}
    assert window.words
    assert window.reason


def test_stated_limits_are_in_the_papers_sentence() -> None:
    """Limits called the paper's are in the claim's sentence or in its note."""
    stated = [claim for _, claim in TABLES if claim.get("window") == "as stated"]
    assert stated
    for claim in stated:
        words = f"{claim['text']} {claim.get('note', '')}".replace(",", "")
        for key in ("low", "high"):
            if key in claim and claim[key] != 1.0:  # a bound that holds is at least the regret
                assert re.search(rf"\b{claim[key]:g}\b", words), claim["id"]


def test_the_documentation_has_the_table() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name, w in WINDOWS.items():
        assert f"| `{name}` | {w.words} | {w.low:.3g} | {w.high:.4g} | {w.reason} |" in text


@pytest.mark.parametrize(
    ("value", "digits", "low", "high"),
    [(2000.0, 1, 1500.0, 2500.0), (10_000.0, 1, 9500.0, 15_000.0), (0.53, 2, 0.525, 0.535)],
)
def test_printed_digits(value: float, digits: int, low: float, high: float) -> None:
    assert printed(value, digits) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"window": "similarr"}, "must be one of"),
        ({"window": "similar", "low": 0.7}, "are for the window 'as stated'"),
        ({"window": "as stated"}, "needs one of them"),
        ({"window": "similar", "digits": 1}, "are for the window 'rounds to'"),
        ({"window": "rounds to"}, "needs them"),
        ({"window": "about", "value": 0.0}, "above 0"),
    ],
)
def test_what_does_not_go_together(given: dict[str, Any], message: str) -> None:
    whole = {"value": 1.0, "digits": 0, "low": None, "high": None, **given}
    with pytest.raises(ValueError, match=message):
        limits_of(**whole)
    with pytest.raises(ValueError, match=message):
        Ratio(figure="f", id="i", text="t", source="not in the paper", policies=("a", "b"), **given)


def test_numbers_of_a_table_that_fit_in_either_order_have_it_as_a_claim() -> None:
    """Windows as wide as √10 overlap: without the order, a reversed table would pass.

    A number of the table may be held against two versions of a policy: one order of both numbers
    is enough, whichever versions it compares.
    """
    seen = 0
    for experiment in list_experiments():
        values = [c for c in experiment.claims if isinstance(c, Value) and c.window != "as stated"]
        orders = [c for c in experiment.claims if isinstance(c, Order | BestOf | Ratio | CatchUp)]
        ordered = {
            (a.value, b.value)
            for a, b in itertools.permutations(values, 2)
            if any({a.policy, b.policy} <= set(curves_of(c)) for c in orders)
        }
        for one, two in itertools.combinations(values, 2):
            wide = one.limits[1] > two.limits[0] and two.limits[1] > one.limits[0]
            if wide and one.value != two.value:
                seen += 1
                assert (one.value, two.value) in ordered, (experiment.name, one.id, two.id)
    assert seen


def test_windows_name_where_they_come_from() -> None:
    windowed = [c for e in list_experiments() for c in e.claims if isinstance(c, Windowed)]
    assert windowed
    for claim in windowed:
        assert claim.origin == "the paper's numbers" or any(
            claim.origin.startswith(name) for name in (*WINDOWS, "rounds to")
        )
