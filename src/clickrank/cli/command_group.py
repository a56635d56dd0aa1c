"""Groups of commands, whose help shows what is to be typed."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class CommandGroup(TyperGroup):
    """A group of commands in whose help switches have no type, since no value is typed."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group."""
        return _without_types(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the command that was typed, with its name and the rest of the line."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _without_types(command.get_params(ctx))
        return name, command, rest


def _without_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""  # otherwise Typer shows <bool>
    return params
