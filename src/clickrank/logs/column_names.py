"""Column names: finds the columns of a log among those of a file."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from clickrank.errors import invalid, unknown
from clickrank.logs.schema import FIELDS, check_columns, kind_of

#: Other names under which columns are recognised, in lower case.
_SYNONYMS = {
    "impression_id": ("impressionid", "serp_id", "list_id"),
    "query": ("query_id", "queryid", "qid", "context"),
    "position": ("pos", "rank"),
    "item": ("item_id", "itemid", "url", "url_id", "doc", "doc_id", "document"),
    "click": ("clicked", "clicks"),
    "shown": ("impression", "impressions", "displays", "views"),
    "clicked": ("click", "clicks"),
    "propensity": ("propensity_score",),
    "prefix_propensity": (),
    "timestamp": ("time", "shown_at"),
    "user": ("user_id", "userid"),
}
#: Words in the names of columns that may identify lists. Such columns are suggested, not used.
_LIST_WORDS = ("session", "request", "serp", "list", "slate", "impression", "pageview", "search")


def map_columns(
    names: Sequence[str], given: Mapping[str, str] | None = None, file: str = "the file"
) -> dict[str, str]:
    """Return the name that each column of the log has in a file.

    Columns that are not given are recognised by their names, in upper or lower case. ``file`` is
    the name of the file for error messages.

    >>> map_columns(["query", "url", "pos", "Impression", "Click"])
    {'query': 'query', 'position': 'pos', 'item': 'url', 'shown': 'Impression', 'clicked': 'Click'}
    """
    chosen = dict(given or {})
    for name, column in chosen.items():
        if name not in FIELDS:
            raise unknown("column", name, FIELDS)
        if column not in names:
            rule = f"the column of {name} must be one that {file} has ({', '.join(names)})"
            raise invalid("open_log", rule, column)
    counted = "shown" in chosen or (
        "click" not in chosen and _find("shown", names, chosen.values()) is not None
    )
    for name in FIELDS:
        if name in chosen or name == ("click" if counted else "clicked"):
            continue
        if name == "shown" and not counted:
            continue
        found = _find(name, names, chosen.values())
        if found is not None:
            chosen[name] = found
    result = {name: chosen[name] for name in FIELDS if name in chosen}
    check_columns(result, names, file)
    return result


def _find(name: str, columns: Sequence[str], taken: Collection[str]) -> str | None:
    """Return the column that is called so, or by another of its names."""
    free = {c.strip().lower(): c for c in reversed(columns) if c not in taken}
    return next((free[n] for n in (name, *_SYNONYMS[name]) if n in free), None)


def unused_list_columns(names: Sequence[str], found: Mapping[str, str]) -> list[str]:
    """Return a note for each unused column that may identify lists, if the log has no lists.

    >>> unused_list_columns(["SessionID", "item", "click"], {"item": "item", "click": "click"})
    ['column SessionID is not used; read it as impression_id if it identifies lists']
    >>> unused_list_columns(["id", "listener"], {"impression_id": "id"})
    []
    """
    if kind_of(found) != "slots":
        return []
    free = [name for name in names if name not in found.values()]
    return [
        f"column {name} is not used; read it as impression_id if it identifies lists"
        for name in free
        if any(w.removesuffix("id") in _LIST_WORDS for w in re.findall("[a-z]+", name.lower()))
    ]
