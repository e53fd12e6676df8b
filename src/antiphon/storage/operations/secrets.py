"""Secrets that the servers of one store share."""

from antiphon.storage.operations.step import Operation, ask, first


def agree(name: str, fresh: bytes) -> Operation[bytes]:
    """Keep a secret, unless there is one; return what stands."""
    yield from ask("keep_secret", name, fresh)
    row = yield from first("find_secret", name)
    return bytes(row[0]) if row else fresh
