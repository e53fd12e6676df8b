"""The keys of an agent's steps: the scopes around a step, its name, and how often this name was
begun there.

A handler that runs again asks for the same steps under the same keys, whatever order work side by
side ends in, as long as each piece of it has a scope of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256

LONGEST_NAME = 64
"""Bytes of a scope's name in a key; a longer one is shortened, with a digest."""

LONGEST_KEY = 300
"""Bytes."""


@dataclass(slots=True)
class Scope:
    """A part of a handler that counts its own steps."""

    path: str = ""
    counts: dict[str, int] = field(default_factory=dict)

    def key(self, name: str) -> str:
        """Return the key of the next step of this name. Raises `ValueError` if it is too long."""
        return checked(f"{self.path}{name}/{self._next(name)}")

    def inner(self, name: str) -> "Scope":
        """Return a scope within this one. Raises `ValueError` if its path is too long."""
        short = shortened(name)
        count = self._next(f"{short}/")
        again = f"~{count}" if count else ""
        return Scope(checked(f"{self.path}{short}{again}/"))

    def _next(self, name: str) -> int:
        count = self.counts.get(name, 0)
        self.counts[name] = count + 1
        return count


current: ContextVar[Scope] = ContextVar("scope")
"""The scope of the running code; tasks inherit it."""


def here() -> Scope:
    """Return the scope of the running code. Raises `RuntimeError` outside every handler."""
    try:
        return current.get()
    except LookupError:
        raise RuntimeError(
            "A context is used outside its handler. Use it in the handler, in tasks that the "
            "handler creates, and in threads that it starts with asyncio.to_thread."
        ) from None


@contextmanager
def entered(scope: Scope) -> Iterator[None]:
    """Run a block in a scope."""
    token = current.set(scope)
    try:
        yield
    finally:
        current.reset(token)


def shortened(name: str) -> str:
    """Return a name as a part of a key: without slashes and control characters, and short."""
    if name.isprintable() and "/" not in name and len(name.encode()) <= LONGEST_NAME:
        return name
    plain = "".join(char for char in name[:24] if char.isprintable() and char != "/")
    return f"{plain}#{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def checked(key: str) -> str:
    """Return the key. Raises `ValueError` if it has more than `LONGEST_KEY` bytes."""
    if len(key.encode()) > LONGEST_KEY:
        raise ValueError(
            f"The key of a step has more than {LONGEST_KEY} bytes: {key[:80]}... "
            "Use shorter names, or fewer scopes within each other."
        )
    return key
