"""BayesianPolicy: settings of BayesUCB and Thompson sampling, a Beta prior and a click model.

An observed item adds 1 to its α if it was clicked, and 1 to its β if not. Items below the last
position that was certainly examined add nothing. Under position-based clicks it is not known which
items were examined: see `clickrank.policies._shared.attraction_posterior`.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Literal, TypeVar

import numpy as np

from clickrank._core.arrays import Floats, Vector
from clickrank.errors import did_you_mean, does_not_apply, invalid
from clickrank.policies._shared.observation import (
    DEPENDENT_RULES,
    EVERYTHING,
    FIRST_CLICK,
    LAST_CLICK,
    LAST_CLICK_CAUTION,
)
from clickrank.policies.capabilities import HasCautions, HasPrior, ItemsComeAndGo
from clickrank.policies.policy_spec import (
    KnownModel,
    Policy,
    check_length,
    satisfaction_unknown,
    set_probabilities,
)
from clickrank.rankings.selection import visibility
from clickrank.stats.beta_prior import UNIFORM, Beta

P = TypeVar("P", bound="BayesianPolicy")

CLICK_MODELS = ("dctr", "cascade", "dcm", "pbm")
_RULES = {"dctr": EVERYTHING, "cascade": FIRST_CLICK, "pbm": EVERYTHING}
#: Facts about the page that the Bayesian policies must be given.
KNOWN = ("click_model", "examination", "satisfaction")


@dataclasses.dataclass(frozen=True)
class BayesianPolicy(Policy, ItemsComeAndGo, HasCautions, HasPrior):
    """A policy with a posterior of each item's attraction."""

    by_item = ("clicks", "misses")
    cautions = (LAST_CLICK_CAUTION,)

    click_model: Literal["dctr", "cascade", "dcm", "pbm"]
    prior: Beta = UNIFORM
    examination: Vector | None = None
    observe: Literal["last-click", "first-click"] = "last-click"
    satisfaction: Vector | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        owner = type(self).__name__
        if not isinstance(self.click_model, str):
            raise invalid(owner, "click_model must be a string", self.click_model)
        if self.click_model not in CLICK_MODELS:
            rule = f"click_model must be one of {', '.join(CLICK_MODELS)}, got {self.click_model!r}"
            hint = did_you_mean(self.click_model, CLICK_MODELS)
            if not hint:
                rule += ", for which it cannot infer which items were examined"
                hint = (
                    f"Name the closest, as in clickrank.policy({self.name!r}, click_model='pbm')."
                )
            raise does_not_apply(owner, rule, hint)
        if not isinstance(self.prior, Beta):
            raise invalid(owner, "prior must be a clickrank.priors.Beta", self.prior)
        if self.observe not in DEPENDENT_RULES:
            raise invalid(owner, "observe must be 'last-click' or 'first-click'", self.observe)
        if self.click_model == "pbm":
            if self.examination is None:
                rule = "examination must be given with click_model='pbm'"
                raise invalid(owner, rule, self.examination)
            set_probabilities(self, "examination")
        elif self.examination is not None:
            # A document-based page has it too: all ones.
            if self.click_model != "dctr" or not np.all(np.equal(self.examination, 1.0)):
                rule = f"examination must be left out with click_model={self.click_model!r}"
                raise invalid(owner, rule, self.examination)
            object.__setattr__(self, "examination", None)
        if self.satisfaction is not None:
            set_probabilities(self, "satisfaction", low_open=False)
            if self.click_model != "dcm":
                # Cascade clicks have it too: all ones.
                if any(b > a for a, b in itertools.pairwise(self.satisfaction)):
                    rule = f"satisfaction must be left out with click_model={self.click_model!r}"
                    raise invalid(owner, rule, self.satisfaction)
                object.__setattr__(self, "satisfaction", None)

    def why_not(self, model: KnownModel) -> str | None:
        """Return why the expected clicks are not those of a click model; None if they are."""
        if self.click_model not in model.is_a:
            return f"its click_model is {self.click_model}, not {model.name}"
        if self.click_model == "dcm":
            return satisfaction_unknown(self.satisfaction, model)
        return None

    def warnings(self) -> list[str]:
        """Return the caution about dependent clicks, if they are counted down to the last click."""
        return [LAST_CLICK_CAUTION] if self.rule() == LAST_CLICK else []

    def rule(self) -> int:
        """Return the rule for observed positions: see `clickrank.policies._shared.observation`."""
        if self.click_model == "dcm":
            return DEPENDENT_RULES[self.observe]
        return _RULES[self.click_model]

    def doubtful(self) -> bool:
        """Return whether there are positions whose examination is uncertain."""
        return self.examination is not None and min(self.examination) < 1.0

    def satisfying(self, n_positions: int) -> Floats:
        """Return one number per position, larger where clicks satisfy more; by default on top."""
        if self.satisfaction is None:
            return np.arange(n_positions, 0, -1).astype(np.float64)
        return visibility(check_length(self, "satisfaction", n_positions))

    def page(self, n_positions: int) -> tuple[Floats, Floats]:
        """Return κ followed by a 1, and one number per position, larger where κ is larger."""
        examination = check_length(self, "examination", n_positions)
        return np.append(examination, 1.0), visibility(examination)

    def prior_of(self, n_items: int) -> tuple[Floats, Floats]:
        """Return α and β with one entry per item."""
        return self.prior.for_items(n_items, type(self).__name__)
