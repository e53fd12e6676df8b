"""One call of an operation: it can be begun again, and knows the time and what it changes."""

from collections.abc import Callable
from typing import Any, Generic

from msgspec import Struct

from antiphon.storage.clock import StoreClock
from antiphon.storage.operations.step import Changed, Now, Operation, R, Shift


class Act(Struct, Generic[R]):
    """An operation with its arguments, which runs by this clock."""

    operation: Callable[..., Operation[R]]
    clock: StoreClock
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    is_of_all: bool = True
    """Whether its first argument says nothing of a tenant."""
    changed: list[str] = []
    """What the last attempt has changed: see `Changed`. Each attempt begins with nothing."""

    @property
    def tenant(self) -> str | None:
        """The tenant that it may read, by its first argument: the tenant, a record, or None
        for all of them.
        """
        if self.is_of_all:
            return None
        first = self.args[0]
        tenant: str | None = first if first is None or isinstance(first, str) else first.tenant
        return tenant

    def answer(self, step: Now | Shift | Changed) -> float | None:
        """Return what is sent back for a step that needs no database."""
        if isinstance(step, Now):
            return self.clock.exact_now() if step.exact else self.clock.now()
        if isinstance(step, Shift):
            return self.clock.shift
        self.changed += step.names
        return None
