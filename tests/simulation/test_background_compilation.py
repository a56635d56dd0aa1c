"""Loops are compiled in the background, each once, and only as long as they are needed."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clickrank.clickmodels import PBM, Cascade, ClickModel
from clickrank.errors import InvalidValue
from clickrank.policies import POLICIES, Oracle, Policy
from clickrank.simulation import background_compilation
from clickrank.simulation.background_compilation import compiling_in_background


def test_loops_are_compiled_once_each_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str, str]] = []

    def watched(policy: Policy, model: ClickModel, *args: Any, **options: Any) -> None:
        seen.append((policy.name, model.name))
        if policy.name == "uniform":
            raise InvalidValue("fails again where somebody looks")

    monkeypatch.setattr(background_compilation, "simulate", watched)
    pbm, cascade = PBM([0.5, 0.4], [1.0]), Cascade([0.5, 0.4], 1)
    uniform, oracle = POLICIES["uniform"](), Oracle([0])
    pairs = [(uniform, pbm), (oracle, pbm), (uniform, pbm), (uniform, cascade), (oracle, pbm)]
    with compiling_in_background(pairs) as compiled:
        assert compiled.wait(60)
    assert seen == [("uniform", "pbm"), ("oracle", "pbm"), ("uniform", "cascade")]


def test_compiling_stops_when_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    seen = []

    def slow(policy: Policy, *args: Any, **options: Any) -> None:
        seen.append(policy.name)
        begun.set()
        assert go_on.wait(60)

    monkeypatch.setattr(background_compilation, "simulate", slow)
    pbm = PBM([0.5, 0.4], [1.0])
    with compiling_in_background([(POLICIES["uniform"](), pbm), (Oracle([0]), pbm)]):
        assert begun.wait(60)
        threading.Timer(0.2, go_on.set).start()  # after the work is done and the stop is asked for
    assert seen == ["uniform"]
