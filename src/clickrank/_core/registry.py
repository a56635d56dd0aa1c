"""Names to classes: how policies and click models are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from clickrank.errors import invalid, unknown

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """A mapping from kebab-case names to classes that suggests the nearest name on a miss."""

    def __init__(self, kind: str) -> None:
        """Make an empty registry of things of this kind, a word that errors use."""
        self.kind = kind
        self._classes: dict[str, type[T]] = {}

    def add(self, name: str, cls: type[T]) -> None:
        """Register a class; a name is given once, but the same class may be defined again."""
        known = self._classes.get(name)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise invalid(cls.__name__, f"the {self.kind} name must not be taken already", name)
        self._classes[name] = cls

    def __getitem__(self, name: str) -> type[T]:
        """Return the class of that name."""
        if name not in self._classes:
            raise unknown(self.kind, name, self._classes)
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names in alphabetical order."""
        return iter(sorted(self._classes))

    def __len__(self) -> int:
        """Return how many classes are registered."""
        return len(self._classes)
