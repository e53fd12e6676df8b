"""Stores in which a test replaces operations, by their names or by themselves."""

import pkgutil
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any

from antiphon.storage import operations
from antiphon.storage.operations.step import P, R, Read, Write
from antiphon.storage.sqlite.store import SqliteStore

Named = Read[..., Any] | Write[..., Any]


@cache
def modules() -> list[ModuleType]:
    """Return the modules of operations."""
    return [
        import_module(f"{operations.__name__}.{one.name}")
        for one in pkgutil.iter_modules(operations.__path__)
    ]


@cache
def named() -> dict[str, Named]:
    """Return all operations for callers, by name."""
    return {
        one.name: one
        for module in modules()
        for one in vars(module).values()
        if isinstance(one, Read | Write)
    }


class Original:
    """The operations of a store, as methods with their names, without what a test has replaced."""

    def __init__(self, store: "ChangedStore") -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        operation = named().get(name)
        if operation is None:
            raise AttributeError(name)
        if isinstance(operation, Read):
            return partial(super(ChangedStore, self._store).read, operation)
        return partial(super(ChangedStore, self._store).write, operation)


class ChangedStore(SqliteStore):
    """A store that calls a method of its class with the name of an operation, if there is one, in
    its place.
    """

    @property
    def original(self) -> Original:
        """The operations themselves."""
        return Original(self)

    def read(
        self, operation: Read[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]:
        changed = self._replaced(operation)
        if changed is None:
            return super().read(operation, *args, **kwargs)
        return self._observed(operation.name, "read", changed, self, *args, **kwargs)

    def write(
        self, operation: Write[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]:
        changed = self._replaced(operation)
        if changed is None:
            return super().write(operation, *args, **kwargs)
        return self._observed(operation.name, "write", changed, self, *args, **kwargs)

    def _replaced(self, operation: Named) -> Any:
        """Return what replaces an operation.

        A method of the store with its name, such as `save`, does not.
        """
        return (
            None
            if hasattr(SqliteStore, operation.name)
            else getattr(type(self), operation.name, None)
        )


def replace_operation(
    store: Any, operation: Named, act: Callable[..., Any]
) -> Callable[..., Awaitable[Any]]:
    """Let a store call `act` with the arguments of an operation, in its place; return the operation
    itself.
    """
    way = "read" if isinstance(operation, Read) else "write"
    before = getattr(store, way)

    async def changed(requested: Named, *args: Any, **kwargs: Any) -> Any:
        return await (
            act(*args, **kwargs) if requested is operation else before(requested, *args, **kwargs)
        )

    setattr(store, way, changed)
    return partial(before, operation)


class Methods:
    """A stand-in for a store: each operation is a method of the subclass with its name."""

    def read(self, operation: Named, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, operation.name)(*args, **kwargs)

    write = read
