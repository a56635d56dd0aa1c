"""Registry: maps names to policy and click model classes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from clickrank.errors import invalid, unknown

T = TypeVar("T")

_KEBAB_CASE = re.compile("[a-z0-9]+(-[a-z0-9]+)*")


def is_kebab_case(name: object) -> bool:
    """Return whether a name can be registered: it is typed in commands and sent in requests.

    >>> [is_kebab_case(name) for name in ("pbm-ucb", "grab", "My Policy", "my_policy", "", None)]
    [True, True, False, False, False, False]
    """
    return isinstance(name, str) and _KEBAB_CASE.fullmatch(name) is not None


class Registry(Mapping[str, type[T]], Generic[T]):
    """A mapping from kebab-case names to classes. An unknown name is an error with a suggestion."""

    def __init__(self, kind: str) -> None:
        """Make an empty registry; errors call its entries ``kind``, as in "policy"."""
        self.kind = kind
        self._classes: dict[str, type[T]] = {}

    def add(self, name: str, cls: type[T]) -> None:
        """Register a class. A name can be used once, but the same class may be defined again."""
        if not is_kebab_case(name):
            rule = "name must be lower-case letters and digits, in parts joined by hyphens"
            raise invalid(cls.__name__, f"{rule}, as in 'my-{self.kind.split()[-1]}'", name)
        known = self._classes.get(name)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise invalid(cls.__name__, f"the {self.kind} name must not be taken already", name)
        self._classes[name] = cls

    def remove(self, name: str) -> None:
        """Remove a class, for example one that was registered for a test."""
        del self._classes[self._known(name)]

    def __getitem__(self, name: str) -> type[T]:
        """Return the class with this name."""
        return self._classes[self._known(name)]

    def _known(self, name: str) -> str:
        if name not in self._classes:
            raise unknown(self.kind, name, self._classes)
        return name

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names in alphabetical order."""
        return iter(sorted(self._classes))

    def __len__(self) -> int:
        """Return the number of registered classes."""
        return len(self._classes)
