"""The page and the picture of the architecture describe the rooms and modules that exist."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from typing import NamedTuple

import pytest

from tests.paths import DOCS, ROOT

SOURCES = ROOT / "src" / "clickrank"
PAGE = (DOCS / "developer" / "architecture.md").read_text(encoding="utf-8")
PICTURE = ET.parse(DOCS / "developer" / "architecture.svg").getroot()
CONTRACTS = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"


class Floor(NamedTuple):
    """A floor as the import contract states it; rooms of one row do not import each other."""

    heading: str
    rows: list[list[str]]

    @property
    def rooms(self) -> list[str]:
        return [room for row in self.rows for room in row]


def floors_of(contract: str) -> list[Floor]:
    """Read the floors, which are comments between the layers of the first contract."""
    layers = contract.split("layers = [", 1)[1].split("\n]", 1)[0]
    floors: list[Floor] = []
    for line in layers.strip().splitlines():
        if heading := re.fullmatch(r"\s*# (\d: .+)", line):
            floors.append(Floor(heading[1], []))
        elif layer := re.fullmatch(r'\s*"(.+)",', line):
            floors[-1].rows.append(layer[1].split(" | "))
    return floors


def floors_in(page: str) -> list[tuple[str, list[str]]]:
    """Return the headings of the floors in the page, each with its rooms."""
    found = re.findall(r"^### (\d: [^\n]+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    return [(heading, re.findall(r"^- `(\w+)`: \S", text, re.MULTILINE)) for heading, text in found]


def modules_in(text: str) -> set[str]:
    """Return the modules of the package that a text names, as paths."""
    return {path for path in re.findall(r"`([\w/]+\.py)`", text) if not path.startswith("tests/")}


def missing(text: str) -> set[str]:
    return {path for path in modules_in(text) if not (SOURCES / path).is_file()}


def miscounted(page: str) -> list[str]:
    """Return the walks whose headings count other modules than those they name."""
    walks = re.findall(
        r"^## (Walk \d: [^\n]+) \((\d+) modules\)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL
    )
    assert len(walks) == 3
    return [title for title, count, text in walks if len(modules_in(text)) != int(count)]


def existing_rooms() -> set[str]:
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    return packages | {path.stem for path in SOURCES.glob("*.py")} - {"__init__"}


def parts_of_the_service() -> set[str]:
    return {f"service/{path.parent.name}" for path in (SOURCES / "service").glob("*/__init__.py")}


def heights() -> dict[str, float]:
    """Return how far down each room is in the picture."""
    texts = [text for text in PICTURE.iter(f"{SVG}text") if text.get("class") == "room"]
    found = {text.text or "": float(text.get("y", "nan")) for text in texts}
    assert len(found) == len(texts), "a room is drawn twice"
    return found


def test_floors_of_the_page_are_those_of_the_contract() -> None:
    floors = floors_of(CONTRACTS)
    assert [floor.heading[0] for floor in floors] == list("54321")
    assert floors_in(PAGE) == [(floor.heading, floor.rooms) for floor in floors]


def test_every_room_is_in_the_page() -> None:
    assert {room for _, rooms in floors_in(PAGE) for room in rooms} == existing_rooms()
    assert set(re.findall(r"`(service/\w+)`", PAGE)) == parts_of_the_service()


def test_every_room_is_in_the_picture() -> None:
    assert set(heights()) == existing_rooms() | parts_of_the_service()


def test_rooms_of_the_picture_are_in_the_order_of_the_contract() -> None:
    below = heights()
    rows = [row for floor in floors_of(CONTRACTS) for row in floor.rows]
    for upper, lower in itertools.pairwise(rows):
        assert max(below[room] for room in upper) < min(below[room] for room in lower)


def test_arrows_of_the_picture_point_down() -> None:
    arrows = [line for line in PICTURE.iter(f"{SVG}line") if line.get("class") == "import"]
    assert len(arrows) >= 4
    assert all(float(line.get("y1", "nan")) < float(line.get("y2", "nan")) for line in arrows)


def test_modules_of_the_page_exist_and_are_counted() -> None:
    assert len(modules_in(PAGE)) > 60
    assert missing(PAGE) == set()
    assert miscounted(PAGE) == []


def test_other_pages_link_to_this_one() -> None:
    for page in (ROOT / "README.md", DOCS / "developer" / "engine.md"):
        assert "architecture.md)" in page.read_text(encoding="utf-8"), page


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("### 3: policies at work", "### 3: something else"),
        ("- `fit`: ", "- `fitting`: "),
        ("- `stats`: ", "- "),
    ],
)
def test_a_page_with_other_floors_is_noticed(old: str, new: str) -> None:
    assert PAGE.count(old) == 1
    floors = [(floor.heading, floor.rooms) for floor in floors_of(CONTRACTS)]
    assert floors_in(PAGE.replace(old, new)) != floors


def test_a_renamed_module_and_a_wrong_count_are_noticed() -> None:
    assert missing(PAGE.replace("`fit/dctr.py`", "`fit/document.py`")) == {"fit/document.py"}
    assert len(miscounted(PAGE.replace("`fit/dctr.py`", "it"))) == 1
