"""The commands ``policies`` and ``models``, which list what is registered."""

from __future__ import annotations

from clickrank.cli.shared_options import AsJson
from clickrank.cli.terminal import console, print_json, print_table, print_text


def policies(as_json: AsJson = False) -> None:
    """List the policies with their assumptions and parameters."""
    from clickrank.reports.descriptions import policy_entries
    from clickrank.reports.text_tables import each_once

    entries = policy_entries()
    if as_json:
        print_json(entries)
        return
    rows = [(e.name, e.summary, e.assumes.text(), e.parameters_text()) for e in entries]
    print_table(("policy", "what it does", "assumes", "parameters"), rows)
    for caution in each_once({entry.name: entry.cautions for entry in entries}):
        print_text(console(), caution, wrap=True)


def models(as_json: AsJson = False) -> None:
    """List the click models with their parameters."""
    from clickrank.reports.descriptions import model_entries

    entries = model_entries()
    if as_json:
        print_json(entries)
        return
    rows = [(e.name, e.summary, e.reward, e.parameters_text()) for e in entries]
    print_table(("model", "how people click", "reward", "parameters"), rows)
