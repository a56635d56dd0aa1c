"""The public names of `clickrank.advice`, which are imported when they are first used."""

from __future__ import annotations

import pytest

import clickrank.advice


@pytest.mark.parametrize("name", clickrank.advice.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(clickrank.advice, name).__module__.startswith("clickrank.advice.")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="forecast"):
        clickrank.advice.forecast  # noqa: B018
