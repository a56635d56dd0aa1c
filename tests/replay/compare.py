"""Compare answers with recorded ones, and report the differences."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: The same computation on another machine may round another way.
TOLERANCE = 1e-6
#: Keys whose values are sentences, which may be reworded.
PROSE = {"meaning", "summary"}
#: Keys whose values are sentences with numbers: the words may change, the numbers may not.
FINDINGS = {"assumes", "notes", "verdict"}
FINDINGS |= {"assumptions", "doubts", "measured", "note", "recommendation", "text", "why"}
#: Values of JSON that are ordinary words too: in what a command prints they may be replaced.
ORDINARY = {"click", "clicks", "counted", "estimated", "first", "impressions", "item", "largest"}
ORDINARY |= {"lists", "logged", "most", "number", "one", "position", "query", "rounds", "rows"}
ORDINARY |= {"attraction", "examination", "horizon", "least", "start"}


def differences(found: Any, want: Any, more: bool = False, at: str = "") -> list[str]:
    """Return where two values of JSON differ; with ``more``, dictionaries may have more keys.

    >>> differences({"a": [1, 2.0]}, {"a": [1, 2.0000001]})
    []
    >>> differences({"a": [1, 3], "b": 0}, {"a": [1, 2]})
    ['/: has b, which it had not', '/a/1: 3, but was 2']
    >>> differences({"a": 1, "b": 0}, {"a": 1}, more=True)
    []
    """
    if isinstance(found, dict) and isinstance(want, dict):
        lost = [f"{at or '/'}: has no {key} any more" for key in want if key not in found]
        new = [f"{at or '/'}: has {key}, which it had not" for key in found if key not in want]
        both = (key for key in want if key in found)
        inner = (differences(found[key], want[key], more, f"{at}/{key}") for key in both)
        return lost + ([] if more else new) + [line for lines in inner for line in lines]
    if at == "/words":
        found, want = ([word for word in words if word not in ORDINARY] for words in (found, want))
    if isinstance(found, list) and isinstance(want, list) and len(found) == len(want):
        pairs = enumerate(zip(found, want, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, more, f"{at}/{i}")]
    if at.rpartition("/")[2] in PROSE and isinstance(found, str) and isinstance(want, str):
        return [] if found else [f"{at}: is empty"]
    if FINDINGS & set(at.split("/")) and isinstance(found, str) and isinstance(want, str):
        found, want = numbers_in(found), numbers_in(want)
    return [] if _same(found, want) else [f"{at or '/'}: {_short(found)}, but was {_short(want)}"]


def numbers_in(text: str) -> list[str]:
    """Return the numbers of a sentence, in their order.

    >>> numbers_in("Better by list-ips: 0.66 per list (difference +0.21, at 95%).")
    ['0.66', '+0.21', '95']
    """
    return re.findall(r"(?<![\w-])[-+]?\d+(?:[.,]\d+)*(?:e[-+]\d+)?", text)


def _same(found: Any, want: Any) -> bool:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (found, want))
    if numbers and isinstance(found, float) | isinstance(want, float):
        return math.isclose(found, want, rel_tol=TOLERANCE, abs_tol=TOLERANCE / 1000)
    return type(found) is type(want) and bool(found == want)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:299] + "…"


def named(words: Iterable[str], text: str) -> list[str]:
    """Return those words that occur in a text as whole words, in their order.

    >>> named(["grap", "--json", "a"], "clickrank: Unknown policy 'grap'. Did you mean 'grab'?")
    ['grap']
    """
    found = dict.fromkeys(word for word in words if word)
    return [
        word for word in found if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w]|[-.,]\w)", text)
    ]


def worded_anew(found: dict[str, Any], want: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the names that only the new wording of its error mentions."""
    if "names" not in found or "names" not in want:
        return found
    return {**found, "names": [name for name in want["names"] if name in found["names"]]}


def load(path: Path) -> Any:
    """Read a recording."""
    return json.loads(path.read_text(encoding="utf-8"))


def save(path: Path, value: Any) -> None:
    """Write a recording in which a change of one answer changes few lines.

    Lists and dictionaries that fit into a line are on one line.
    """
    path.write_text(_text(value, 0) + "\n", encoding="utf-8")


def _text(value: Any, depth: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + depth <= 100 or not isinstance(value, dict | list) or not value:
        return flat
    inside = " " * (depth + 1)
    if isinstance(value, dict):
        items = value.items()
        lines = [
            f"{inside}{json.dumps(k, ensure_ascii=False)}: {_text(v, depth + 1)}" for k, v in items
        ]
    else:
        lines = [f"{inside}{_text(inner, depth + 1)}" for inner in value]
    left, right = "{}" if isinstance(value, dict) else "[]"
    return left + "\n" + ",\n".join(lines) + "\n" + " " * depth + right
