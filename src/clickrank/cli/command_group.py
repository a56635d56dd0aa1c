"""Groups of commands, whose help shows what is to be typed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from typer.core import TyperGroup

#: Options that may stand without a value, and the value that they have then.
OPTIONAL_VALUES = {"--verify": "5"}


class CommandGroup(TyperGroup):
    """A group of commands in whose help switches have no type, since no value is typed.

    Typer has no options with an optional value, so that the group fills in missing ones.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group."""
        return _without_types(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the command that was typed, with its name and the rest of the line."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _without_types(command.get_params(ctx))
        return name, command, list(_with_values(rest))


def _with_values(line: list[str]) -> Iterator[str]:
    """Yield the words of a command line, with the values of options that stand without one."""
    for word, following in itertools.pairwise([*line, "--"]):
        yield word
        if word in OPTIONAL_VALUES and following.startswith("-"):
            yield OPTIONAL_VALUES[word]


def _without_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""  # otherwise Typer shows <bool>
    return params
