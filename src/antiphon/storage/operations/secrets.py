"""Secrets that the servers of one store share."""

from antiphon.storage.operations.step import Operation, first, query_rows, writes


@writes("secret", is_of_all=True, frees=True)
def agree(name: str, fresh: bytes) -> Operation[bytes]:
    """Return the secret with this name. If it does not exist, store `fresh` and return it."""
    yield from query_rows("keep_secret", name, fresh)
    row = yield from first("find_secret", name)
    return bytes(row[0]) if row else fresh
