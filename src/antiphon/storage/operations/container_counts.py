"""Operations that count containers."""

from antiphon.storage.operations.step import Operation, ask


def running(now: int) -> Operation[int]:
    """Return the number of unexpired containers of all tenants."""
    ((count,),) = yield from ask("count_running_containers", now)
    return int(count)
