"""Plain English: words that a newcomer would have to read twice, and one spelling.

`docs/glossary.md` names the words of the field that the project uses, and the words it avoids.
To see what a file would have to change:

    python -m tests.test_words [FILE ...]
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import DOCS, ROOT

#: What is shown to somebody, or read by somebody.
READ = ("src", "docs", "examples", "benchmarks", "tests", "README.md", "CHANGELOG.md", "Makefile")
SUFFIXES = {".py", ".md", ".html", ".js", ".toml", ""}
#: Recorded data, and this file, which lists the words to avoid.
NOT_READ = (ROOT / "tests" / "data", ROOT / "tests" / "test_words.py")

_COUNTED = (
    "algorithm|arm|block|cell|claim|click|column|context|curve|document|feature|figure|file|group"
    "|impression|item|iteration|key|line|list|method|model|name|page|pair|paper|phase|policy"
    "|position|process|query|rank|ranker|request|round|row|run|setting|slot|stage|stream|user"
    "|version|view|visit|visitor|worker"
)
_LINKING = (
    r"(?:after|and|as|at|before|by|for|from|if|in|is|of|on|once|or|than|that|to|when|where|with"
    r"|within|without)\b"
)

#: A pattern to avoid, and what to write instead.
AVOID = {
    # "a row an item", "2.5 µs a round", "one a position"
    rf"\b(?:an?|one|two|\d[\d.,]*\b) (?:(?!{_LINKING})[\w-]+ )?an? (?:{_COUNTED})\b": "… per …",
    r"\banew\b": "again",
    r"\bbeside\b": "next to, compared with",
    r"\bparted by\b": "separated by",
    r"\bforetell\w*|\bforetold\b": "predict",
    r"\btold\b": "given, reported",
    r"\bon record\b": "stored",
    r"\bso many\b": "that many, N",
    r"\bsurely\b": "with confidence, certainly",
    r"\b[Rr]eturn the same\b": "what is returned",
    r"\b[Dd]o the same\b": "what is done",
    r"\bwhat learns\b": "the policy",
    r"\bwhat it knows\b": "the statistics",
    r"\bwhat is more in it\b": "its additional parameters",
    r"(?<![\d,.-])\b00[0-4]\b(?![,.]?\d)": "the paper's bibliography key",
}

#: The same, where several spaces may separate words, and all of them at once, which is faster.
AVOID_PATTERNS = [
    (re.compile(pattern.replace(" ", r"\s+")), better) for pattern, better in AVOID.items()
]
ANY_TO_AVOID = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in AVOID_PATTERNS))

#: American spellings, in prose. The project writes British English.
AMERICAN = re.compile(
    r"\b(?:behavior|canceled|catalog|center|centered|(?<!-)colors?(?!-)|favor|favorite|gray|honor|judgments?"
    r"|labeled|labeling|modeling|relabeled"
    r"|(?:anal)yz\w*"
    r"|(?:character|general|initial|maxim|minim|normal|optim|organ|personal|random|recogn|regular"
    r"|serial|summar|symmetr|util|visual)iz\w*)\b",
    re.IGNORECASE,
)

#: Names that say nothing about what they hold.
VAGUE_FIELDS = {"room", "marks", "work", "kept", "own", "at", "left", "ahead"}
VAGUE_NAMES = {
    "whole", "number", "switch",
    "Learned", "Folder", "Odds", "Known", "Standing", "Memory", "Access",
}  # fmt: skip

_CODE = re.compile(r"``?[^`]+``?|https?://\S+")
#: The short names of papers in a table.
_CITED = re.compile(r"(?<=\| )00[0-4](?= \|)")
#: Values of settings, as in ``short = "001"``.
_SETTING = re.compile(r'"[^"\s]*"')


def files() -> list[Path]:
    """Return the files that people read, of those that are under version control."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *READ],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    found = [ROOT / name for name in listed]
    read = [p for p in found if not any(p.is_relative_to(other) for other in NOT_READ)]
    return [p for p in read if p.suffix in SUFFIXES and p.is_file() and "LICENSE" not in p.name]


def passages(path: Path) -> Iterator[tuple[int, str]]:
    """Return the text of a file that people read, with the number of its first line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _python_passages(text)
    elif path.suffix == ".md":
        prose = re.sub(r"^```.*?^```", _blank, text, flags=re.MULTILINE | re.DOTALL)
        yield 1, _CITED.sub(_blank, _CODE.sub(_blank, prose))
    else:
        yield 1, _SETTING.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    """Replace code by as many line ends as it has, so that lines keep their numbers."""
    return "\n" * match[0].count("\n") or "`"


def _python_passages(text: str) -> Iterator[tuple[int, str]]:
    """Return the comments, and the strings that are sentences: docstrings and messages."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], _CODE.sub(_blank, token.string)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, _CODE.sub(_blank, node.value)


def wordings(path: Path) -> Iterator[str]:
    """Return what should be worded in another way, with file and line."""
    for first, text in passages(path):
        # Sentences go over the ends of lines; a comment's next line is another passage.
        joined = re.sub(r"\s", " ", text)
        for pattern, better in AVOID_PATTERNS if ANY_TO_AVOID.search(joined) else ():
            for found in pattern.finditer(joined):
                line = first + text.count("\n", 0, found.start())
                yield f"{path.relative_to(ROOT)}:{line}: {found[0]!r} → {better}"
        if path.suffix in {".py", ".md"} and path.name != "bibliography.md":  # titles as printed
            for found in AMERICAN.finditer(joined):
                line = first + text.count("\n", 0, found.start())
                yield f"{path.relative_to(ROOT)}:{line}: {found[0]!r} → British spelling"


def vague_names(path: Path) -> Iterator[str]:
    """Return fields and definitions whose names do not say what they hold."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.ClassDef):
            for field in node.body:
                name = getattr(getattr(field, "target", None), "id", "")
                if isinstance(field, ast.AnnAssign) and name.strip("_") in VAGUE_FIELDS:
                    yield f"{where}: field {node.name}.{name}"
            if node.name in VAGUE_NAMES:
                yield f"{where}: class {node.name}"
        elif isinstance(node, ast.FunctionDef) and node.name in VAGUE_NAMES:
            yield f"{where}: function {node.name}"


def problems(paths: list[Path]) -> list[str]:
    """Return everything that should be worded or named in another way."""
    found = [one for path in paths for one in wordings(path)]
    sources = [p for p in paths if p.suffix == ".py" and p.is_relative_to(ROOT / "src")]
    return found + [one for path in sources for one in vague_names(path)]


def test_plain_words() -> None:
    assert problems(files()) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("# one row an item\n", 1),
        ("# two µs a round\n", 1),
        ("# one row per item\n", 0),
        ("# one item at a time\n", 0),
        ("# 0 without a view\n", 0),
        ('"""Attractions, a number\nan item."""\n', 1),
        ('raise ValueError("read it anew")\n', 1),
        ('name = "anew"\n', 0),  # not a sentence
        ('"""See ``anew`` in 004."""\n', 1),
        ('"""Normalized colors."""\n', 2),
        ("color = 1\n", 0),
        ('page = "prefers-color-scheme: dark"\n', 0),  # a name in CSS
    ],
)
def test_wordings_are_found(
    text: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    path = tmp_path / "a.py"
    path.write_text(text)
    assert len(list(wordings(path))) == count


def test_the_glossary_names_the_words_of_the_field() -> None:
    """Each of them is used in the sources."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE)
    assert {
        "impression", "feedback", "settle", "fold", "snapshot", "policy", "ranker", "context",
        "candidates", "propensity", "examination", "attraction",
    } <= set(terms)  # fmt: skip
    code = [p for p in files() if p.suffix == ".py" and not p.is_relative_to(ROOT / "tests")]
    sources = "".join(p.read_text(encoding="utf-8") for p in code).lower()
    for term in terms:
        assert term.lower() in sources, term


if __name__ == "__main__":
    print("\n".join(problems([Path(p).resolve() for p in sys.argv[1:]] or files())))
