"""The command line application: all commands, and the one place where their errors are shown.

Each command imports what it needs when it runs, so that help is printed at once.
"""

from __future__ import annotations

import select
import sys
from typing import Annotated, Any

import typer

from clickrank.cli.advice_commands import diagnose, whatif
from clickrank.cli.board_command import board
from clickrank.cli.command_group import CommandGroup
from clickrank.cli.compare_command import compare
from clickrank.cli.error_lines import error_line, value_line
from clickrank.cli.evaluate_command import evaluate
from clickrank.cli.list_commands import models, policies
from clickrank.cli.log_commands import read
from clickrank.cli.reproduce_command import reproduce, verdicts
from clickrank.cli.service_commands import compact, export, keys, loadtest, serve, verify
from clickrank.cli.terminal import CLOSED_PIPE, INTERRUPTED
from clickrank.cli.warm_command import warm
from clickrank.errors import ClickRankError

FAILED = 2


class _Group(CommandGroup):
    """The group of all commands. It turns their errors into one line and an exit code."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help with the default False.

        If the default is None, Typer asks Pydantic to convert it for each command, which takes a
        third of the time that the help of a command takes.
        """
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; end quietly if the reader of a pipe has seen enough, as `head`."""
        try:
            return super().main(*args, **kwargs)
        except SystemExit as end:  # Typer and Rich silence the output, and exit with 1
            error: BaseException | None = end
            # An error that `invoke` has printed ends in Exit, whatever it was caused by.
            while error is not None and not isinstance(error, (BrokenPipeError, typer.Exit)):
                error = error.__context__
            if not isinstance(error, BrokenPipeError):
                raise
            raise SystemExit(CLOSED_PIPE) from None

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (ClickRankError, OSError) as error:  # OSError: a file cannot be read or written
            if isinstance(error, BrokenPipeError) and _output_is_closed():
                raise  # to `main`
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            typer.echo(f"clickrank: {error_line(command, error)}", err=True)
            raise typer.Exit(FAILED) from error
        except typer.BadParameter as error:
            line = value_line(error)
            if line is None:  # the message is not by Pydantic
                raise
            typer.echo(f"clickrank: {line}", err=True)
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt:
            typer.echo("clickrank: interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None


def _output_is_closed() -> bool:
    """Return whether nobody reads the output any more; another pipe may be broken instead."""
    try:
        sys.stdout.flush()
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):
        return True
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


app = typer.Typer(
    cls=_Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


def _version(show: bool) -> None:
    if show:
        import clickrank

        typer.echo(f"clickrank {clickrank.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Learn from clicks which items to show and in which order."""


for command in (
    policies,
    models,
    compare,
    reproduce,
    verdicts,
    board,
    read,
    diagnose,
    whatif,
    evaluate,
    warm,
):
    app.command()(command)
for command in (serve, compact, verify, export, loadtest):
    app.command()(command)
app.add_typer(keys, name="keys")
