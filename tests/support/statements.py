"""The statements of an operation, for tests that answer them."""

from antiphon.storage.act import Act
from antiphon.storage.clock import StoreClock
from antiphon.storage.operations.step import Changed, Now, Operation, R, Shift


def statements_of(operation: Operation[R], now: float = 0.0) -> Operation[R]:
    """Return the operation without the steps that need no database, at this time."""
    act: Act[None] = Act(lambda: iter(()), StoreClock(lambda: now))  # type: ignore[arg-type, return-value]
    try:
        step = next(operation)
        while True:
            if isinstance(step, Now | Shift | Changed):
                step = operation.send(act.answer(step))
            else:
                step = operation.send((yield step))
    except StopIteration as end:
        result: R = end.value
        return result
