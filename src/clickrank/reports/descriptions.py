"""What there is: every policy and click model with its summary, assumptions and parameters."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import msgspec

from clickrank.clickmodels import CLICK_MODELS
from clickrank.policies import POLICIES, Assumes
from clickrank.policies.capabilities import HasCautions

#: What a policy assumes of the order in which positions are looked at.
_POSITIONS = {
    "any": [],
    "first": ["the first position looked at most"],
    "decreasing": ["each position looked at more than the next"],
    "one": ["one position"],
}


class Parameter(msgspec.Struct):
    """A parameter; one that must be given has no default."""

    name: str
    required: bool
    default: Any = None

    def text(self) -> str:
        """Return it as it is written in a call."""
        return self.name if self.required else f"{self.name}={self.default!r}"


class Assumptions(msgspec.Struct):
    """What a policy takes for granted: all fields of `clickrank.policies.Assumes`."""

    click_models: list[str]
    known: list[str]
    horizon: bool
    features: bool
    priors: bool
    positions: str
    equal_satisfaction: bool

    def text(self) -> str:
        """Return it in a few words."""
        words = [f"{' or '.join(self.click_models)} clicks" if self.click_models else "any clicks"]
        words += [f"known {name}" for name in self.known]
        words += ["horizon"] * self.horizon + ["features"] * self.features
        words += _POSITIONS[self.positions]
        words += ["clicks that satisfy equally"] * self.equal_satisfaction
        words += ["takes priors"] * self.priors
        return ", ".join(words)


class Entry(msgspec.Struct):
    """Name, first line of the docstring, parameters."""

    name: str
    summary: str
    parameters: list[Parameter]

    def parameters_text(self) -> str:
        """Return the parameters as in a call."""
        return ", ".join(p.text() for p in self.parameters) or "none"


class PolicyEntry(Entry, kw_only=True):
    """A policy."""

    assumes: Assumptions
    cautions: list[str] = []


class ModelEntry(Entry, kw_only=True):
    """A click model; it is a special case of the models in ``is_a``."""

    reward: str
    is_a: list[str]


def assumptions_of(assumes: Assumes) -> Assumptions:
    """Return what a policy takes for granted, as it is listed."""
    return msgspec.convert(dataclasses.asdict(assumes), Assumptions)


def policy_entries() -> list[PolicyEntry]:
    """Return all registered policies by name."""
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
    """Return all registered click models by name."""
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
        if key != "reference"  # which says how a policy is run, not which one it is
    ]
