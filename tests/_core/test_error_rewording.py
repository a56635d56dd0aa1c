"""Errors in the language of whoever reads them: Python, JSON, or a command line."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clickrank._core.compressed_files import DamagedFile
from clickrank._core.error_rewording import JSONWording, OptionWording, Wording
from clickrank.clickmodels import PBM
from clickrank.errors import (
    CannotEvaluate,
    ClickRankError,
    DoesNotApply,
    GivenName,
    InvalidValue,
    MissingData,
    MissingExtra,
    does_not_apply,
    invalid,
    unknown,
)
from clickrank.learning.catalogue import Catalogue
from clickrank.service.runtime.refusals import Refused, Unavailable

OWNERS = {"PBMUCB": "pbm-ucb"}
JSON = JSONWording(lambda: OWNERS, {"n_positions": "positions"})
OPTIONS = OptionWording(
    lambda: OWNERS, {"n_positions": "--positions", "allow_mismatch": "--allow-mismatch"}
)
MISMATCH = "Pass allow_mismatch=True to run it."
CALL = "Give it, as in clickrank.policy('pbm-ucb', examination=[1.0])."


@pytest.mark.parametrize(
    ("error", "json", "options"),
    [
        (
            invalid("simulate", "n_positions must be between 1 and n_items (3)", 4.0),
            "positions must be between 1 and n_items (3), got 4.0.",
            "--positions must be between 1 and the number of items (3), got 4.",
        ),
        (
            invalid("PBMUCB", "epsilon must be a number", True),
            "pbm-ucb: epsilon must be a number, got true.",
            "pbm-ucb: epsilon must be a number, got yes.",
        ),
        (
            invalid("Ranker", "prior[2] must be 'a', \"b\" or None", "it's"),
            'prior[2] must be "a", "b" or null, got "it\'s".',
            "number 3 of prior must be 'a', \"b\" or nothing, got 'it's'.",
        ),
        (
            invalid("model.toml", "examination must be given"),
            "model.toml: examination must be given.",
            "model.toml: examination must be given.",
        ),
        (
            invalid("x", "clicks must be 0 or 1", np.array([0.0, 2.5])),
            "clicks must be 0 or 1, got [0.0, 2.5].",
            "clicks must be 0 or 1, got 0,2.5.",
        ),
        (
            invalid("x", "it must be there", {"a": (1, None), "b": Path("c")}),
            'it must be there, got {"a": [1, null], "b": "c"}.',
            "it must be there.",
        ),
        (
            invalid("x", "a policy must fit", PBM([0.5], [1.0])),
            'a policy must fit, got "pbm".',
            "a policy must fit, got 'pbm'.",
        ),
        (
            does_not_apply("PBMUCB", "it assumes the model's clicks", MISMATCH),
            'pbm-ucb: it assumes the model\'s clicks. Pass "allow_mismatch": true to run it.',
            "pbm-ucb: it assumes the model's clicks. Pass --allow-mismatch to run it.",
        ),
        (
            does_not_apply("PBMUCB", "examination must be given", CALL),
            "pbm-ucb: examination must be given.",
            "pbm-ucb: examination must be given.",
        ),
        (
            unknown("policy", "grap", ["grab"]),
            'Unknown policy "grap". Did you mean "grab"?',
            "Unknown policy 'grap'. Did you mean 'grab'?",
        ),
        (
            InvalidValue("PBMUCB: n_positions must be given."),
            "pbm-ucb: positions must be given.",
            "pbm-ucb: --positions must be given.",
        ),
        (
            CannotEvaluate("The file /tmp/a_b.csv has too few rows."),
            "The file /tmp/a_b.csv has too few rows.",
            "The file /tmp/a_b.csv has too few rows.",
        ),
        (
            invalid(GivenName("PBMUCB"), "items must be distinct", "a"),
            'PBMUCB: items must be distinct, got "a".',
            "PBMUCB: items must be distinct, got 'a'.",
        ),
        (MissingData("ml: no ratings."), "ml: no ratings.", "ml: no ratings."),
        (InvalidValue("whatif: no query."), "no query.", "no query."),
        (OSError(2, "No such file", "a"), None, "[Errno 2] No such file: 'a'"),
    ],
)
def test_messages_of_front_ends(error: Exception, json: str | None, options: str) -> None:
    if json is not None:
        assert JSON.message(error) == json
    assert OPTIONS.message(error) == options


def test_switches_and_settings_are_options() -> None:
    assert OPTIONS.text("n_positions=3, allow_mismatch=False") == (
        "--positions 3, --no-allow-mismatch"
    )
    assert OPTIONS.text("Pass columns={'click': 'c'}.") == "Pass columns click=c."
    assert JSON.text("columns={'click': 'c'}") == '"columns": {"click": "c"}'
    assert JSON.text("n_positions=3, seed=None") == '"positions": 3, "seed": null'


def test_python_keeps_its_own_message_and_parts_survive_pickling() -> None:
    """Errors cross from the processes of a pool."""
    error = does_not_apply("PBMUCB", "examination must be given", CALL)
    assert str(error) == f"PBMUCB: examination must be given. {CALL}"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is DoesNotApply
    assert (str(again), again.rule, again.hint) == (str(error), error.rule, error.hint)
    again = pickle.loads(pickle.dumps(invalid("a", "b must be c")))
    assert OPTIONS.message(again) == "b must be c."


class Unloadable:
    """An object that can be pickled, and fails when it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (int, ("no number",))

    def __repr__(self) -> str:
        return "Unloadable()"


@pytest.mark.parametrize("value", [lambda: 0, threading.Lock(), Unloadable()])
def test_an_error_about_any_value_can_be_pickled(value: object) -> None:
    error = invalid(GivenName("a"), "b must be c", value)
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.value, again.rule) == (str(error), repr(value), "b must be c")
    assert type(again.owner) is GivenName
    assert again.__notes__ == ["a note"]
    assert error.value is value


@pytest.mark.parametrize(
    "error",
    [
        unknown("policy", "grap", ["grab"]),
        MissingData("ml: no ratings."),
        MissingExtra("The service needs uvicorn."),
        Catalogue("Ranker", ["a"])._unknown("items must be known", "b"),
        DamagedFile("It ends too early."),
        Refused("late", "It has settled.", 409),
        Unavailable("Wait.", 3),
    ],
)
def test_every_kind_of_error_can_be_pickled(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))
    assert getattr(again, "msg", None) == getattr(error, "msg", None)


def test_a_front_end_says_how_it_shows_values() -> None:
    with pytest.raises(NotImplementedError):
        Wording().message(invalid("a", "b must be c", 1))
    assert isinstance(invalid("a", "b", 1), ClickRankError)
