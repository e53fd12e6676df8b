"""Operations for tests that perform them themselves."""

from collections.abc import Callable

from antiphon import ids
from antiphon.storage.act import Act
from antiphon.storage.clock import StoreClock
from antiphon.storage.operations.step import Operation, R


def act_of(operation: Callable[..., Operation[R]], *args: object) -> Act[R]:
    """Return the call of an operation with these arguments, by this process's clock."""
    return Act(operation, StoreClock(ids.now), args)
