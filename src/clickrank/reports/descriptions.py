"""Descriptions of policies and click models: summary, assumptions and parameters."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import msgspec

from clickrank.clickmodels import CLICK_MODELS
from clickrank.policies import POLICIES, Assumes
from clickrank.policies.capabilities import HasCautions

#: What a policy assumes about the order in which positions are examined.
_POSITIONS = {
    "any": [],
    "first": ["the first position examined most"],
    "decreasing": ["each position examined more than the next"],
    "one": ["one position"],
}


class Parameter(msgspec.Struct):
    """A parameter of a policy or click model; a required one has no default."""

    name: str
    required: bool
    default: Any = None

    def text(self) -> str:
        """Return the parameter as it is written in a call."""
        return self.name if self.required else f"{self.name}={self.default!r}"


class Assumptions(msgspec.Struct):
    """What a policy assumes: the fields of `clickrank.policies.Assumes`."""

    click_models: list[str]
    known: list[str]
    horizon: bool
    features: bool
    priors: bool
    positions: str
    equal_satisfaction: bool

    def text(self) -> str:
        """Return the assumptions in a few words."""
        words = [f"{' or '.join(self.click_models)} clicks" if self.click_models else "any clicks"]
        words += [f"known {name}" for name in self.known]
        words += ["horizon"] * self.horizon + ["features"] * self.features
        words += _POSITIONS[self.positions]
        words += ["equal satisfaction of all clicks"] * self.equal_satisfaction
        words += ["takes priors"] * self.priors
        return ", ".join(words)


class Entry(msgspec.Struct):
    """The name of a policy or click model, the first line of its docstring, and its parameters."""

    name: str
    summary: str
    parameters: list[Parameter]

    def parameters_text(self) -> str:
        """Return the parameters as in a call."""
        return ", ".join(p.text() for p in self.parameters) or "none"


class PolicyEntry(Entry, kw_only=True):
    """The description of a policy."""

    assumes: Assumptions
    cautions: list[str] = []


class ModelEntry(Entry, kw_only=True):
    """The description of a click model, which is a special case of the models in ``is_a``."""

    reward: str
    is_a: list[str]


def assumptions_of(assumes: Assumes) -> Assumptions:
    """Return the assumptions of a policy as they are listed."""
    return msgspec.convert(dataclasses.asdict(assumes), Assumptions)


def policy_entries() -> list[PolicyEntry]:
    """Return the descriptions of all registered policies, sorted by name."""
    return [
        PolicyEntry(
            name=name,
            summary=_summary(cls),
            parameters=_parameters(cls),
            assumes=assumptions_of(cls.assumes),
            cautions=list(cls.cautions) if issubclass(cls, HasCautions) else [],
        )
        for name, cls in POLICIES.items()
    ]


def model_entries() -> list[ModelEntry]:
    """Return the descriptions of all registered click models, sorted by name."""
    return [
        ModelEntry(
            name=name,
            summary=_summary(cls),
            parameters=_parameters(cls),
            reward=cls.reward,
            is_a=list(cls.is_a),
        )
        for name, cls in CLICK_MODELS.items()
    ]


def _summary(cls: type) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _parameters(cls: type) -> list[Parameter]:
    missing = inspect.Parameter.empty
    return [
        Parameter(key, p.default is missing, None if p.default is missing else p.default)
        for key, p in inspect.signature(cls).parameters.items()
        if key != "reference"  # selects an implementation, and is not a parameter of the algorithm
    ]
