"""Checks for policies and click models, including your own; they raise AssertionError."""

from clickrank.checks.click_model_checks import (
    CLICK_MODEL_CHECKS,
    check_click_model,
    example_models,
    example_parameters,
)
from clickrank.checks.policy_checks import LEARNING_CHECKS, POLICY_CHECKS, check_policy

__all__ = [
    "CLICK_MODEL_CHECKS",
    "LEARNING_CHECKS",
    "POLICY_CHECKS",
    "check_click_model",
    "check_policy",
    "example_models",
    "example_parameters",
]
