"""Secrets that the servers of one store share."""

from antiphon.storage.operations.step import Operation, ask, first


def try_to_write(value: bytes) -> Operation[None]:
    """Write a value to a separate row, only to prove that writing works. The value must differ from the last one."""
    yield from ask("try_to_write", value)


def agree(name: str, fresh: bytes) -> Operation[bytes]:
    """Store a secret, unless it exists; return the stored secret."""
    yield from ask("keep_secret", name, fresh)
    row = yield from first("find_secret", name)
    return bytes(row[0]) if row else fresh
