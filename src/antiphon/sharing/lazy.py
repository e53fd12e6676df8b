"""A part that is made on first use."""

from collections.abc import Callable
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Lazy(Generic[T_co]):
    """A part that `make` creates on first use: requests that do not need it never load its code."""

    __slots__ = ("_make", "created")

    def __init__(self, make: Callable[[], T_co]) -> None:
        self._make = make
        self.created: T_co | None = None
        """The part, or None if it was not used yet."""

    def get(self) -> T_co:
        """Return the part; the first call makes it."""
        if self.created is None:
            self.created = self._make()
        return self.created
