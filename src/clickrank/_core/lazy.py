"""Lazy imports: the names of a package are imported on first use."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any


def imported(package: str, homes: Mapping[str, str], name: str) -> Any:
    """Import a name of a package from its module, for the ``__getattr__`` of the package.

    Parameters
    ----------
    package
        The ``__name__`` of the package.
    homes
        For each name, the module of the package that defines it.
    name
        The name to import.
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
