"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any


def imported(package: str, homes: Mapping[str, str], name: str) -> Any:
    """Import a name of a package from its module: what the package's ``__getattr__`` returns.

    Parameters
    ----------
    package
        The package's ``__name__``.
    homes
        The module of the package that each name comes from.
    name
        The name that was asked for.
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
