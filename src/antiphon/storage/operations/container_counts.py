"""Operations that count containers."""

from antiphon.storage.operations.step import NOW, Operation, query_rows, reads


@reads("running_containers", is_of_all=True)
def running() -> Operation[int]:
    """Return the number of containers that have not expired. Raises `StoreError`."""
    now: int = yield NOW
    ((count,),) = yield from query_rows("count_running_containers", now)
    return int(count)
