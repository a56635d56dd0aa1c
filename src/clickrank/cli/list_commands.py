"""The commands ``policies`` and ``models``, which list what is registered."""

from __future__ import annotations

import typer

from clickrank.cli.shared_options import AsJson
from clickrank.cli.terminal import console, print_json, print_table


def add_commands(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(policies)
    app.command()(models)


def policies(as_json: AsJson = False) -> None:
    """List the policies with their assumptions and parameters."""
    from clickrank.reports.descriptions import policy_entries

    entries = policy_entries()
    if as_json:
        print_json(entries)
        return
    rows = [(e.name, e.summary, e.assumes.text(), e.parameters_text()) for e in entries]
    print_table(("policy", "what it does", "assumes", "parameters"), rows)
    concerned: dict[str, list[str]] = {}
    for entry in entries:
        for caution in entry.cautions:
            concerned.setdefault(caution, []).append(entry.name)
    for caution, names in concerned.items():
        console().print(f"{', '.join(names)}: {caution}", highlight=False, markup=False)


def models(as_json: AsJson = False) -> None:
    """List the click models with their parameters."""
    from clickrank.reports.descriptions import model_entries

    entries = model_entries()
    if as_json:
        print_json(entries)
        return
    rows = [(e.name, e.summary, e.reward, e.parameters_text()) for e in entries]
    print_table(("model", "how people click", "reward", "parameters"), rows)
