"""The check of positions finds a policy that puts the best item first."""

from __future__ import annotations

import pytest

import clickrank as cr
from clickrank.checks.playing import by_name
from clickrank.checks.position_relabelling_check import check_relabelling_positions
from clickrank.policies import Assumes, Uniform


def test_the_check_fails_for_a_policy_that_puts_the_best_item_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cls = cr.policies.CascadeUCB1
    monkeypatch.setattr(cls, "assumes", Assumes(click_models=("pbm",)))
    with pytest.raises(AssertionError, match="numbers of the positions"):
        check_relabelling_positions(cls, by_name(cls))
    check_relabelling_positions(Uniform, by_name(Uniform))
