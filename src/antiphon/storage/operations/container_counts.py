"""Counts of containers, as acts."""

from antiphon.storage.operations.step import Operation, ask


def running(now: int) -> Operation[int]:
    """Count the containers of all tenants that have not expired."""
    ((count,),) = yield from ask("count_running_containers", now)
    return int(count)
