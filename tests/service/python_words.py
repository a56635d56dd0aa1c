"""Find Python in messages that people who sent JSON read."""

from __future__ import annotations

import inspect
import re

import clickrank.errors
from clickrank.policies import POLICIES

_CLASSES = {cls.__name__ for cls in POLICIES.values()}
_CLASSES |= {name for name, one in vars(clickrank.errors).items() if inspect.isclass(one)}
_CLASSES |= {"Learner", "ContextState", "Ranker", "Beta", "Features", "Client", "Database"}
_PYTHON = re.compile(
    r"""\b(?:True|False|None|NaN|inf)\b
    |(?<!\w)'[^']*'(?!\w)             # a string in single quotes
    |\b[a-z_]+=\w                     # a keyword argument
    |\b(?:str|int|float|bool|dict|tuple|list|ndarray|numpy|unhashable|NoneType)\b(?!\s[a-z])
    |\barray\(|\bobject\ at\ 0x|<class|\b\w+Error\b|__\w+__
    |\bclickrank\.\w+""",
    re.VERBOSE,
)


def python_words(message: str) -> list[str]:
    """Return the Python in a message: literals, types, classes and calls.

    What stands in double quotes is JSON, and may be anything.
    """
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', message)
    classes = [word for word in re.findall(r"\b[A-Z]\w+(?=:)", text) if word in _CLASSES]
    return [found[0] for found in _PYTHON.finditer(text)] + classes
