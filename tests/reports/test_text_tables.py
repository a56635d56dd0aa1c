"""Tables of text, for the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from clickrank.reports.text_tables import TextTable


def test_cells_are_shown_as_they_are() -> None:
    console = Console(record=True, width=60, file=io.StringIO())
    console.print(TextTable("Caption", ("[bold]name[/]", "n"), [("[red]a[/]", "1")]).rich())
    text = console.export_text()
    assert "[bold]name[/]" in text
    assert "[red]a[/]" in text
    assert "Caption" not in text
