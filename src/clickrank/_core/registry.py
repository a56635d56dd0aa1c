"""Registry: maps names to policy and click model classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from clickrank.errors import invalid, unknown

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """A mapping from kebab-case names to classes. An unknown name is an error with a suggestion."""

    def __init__(self, kind: str) -> None:
        """Make an empty registry; errors call its entries ``kind``, as in "policy"."""
        self.kind = kind
        self._classes: dict[str, type[T]] = {}

    def add(self, name: str, cls: type[T]) -> None:
        """Register a class. A name can be used once, but the same class may be defined again."""
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
