"""Secrets that the servers of one store share."""

from antiphon.storage.operations.step import Operation, ask, first


def try_to_write(value: bytes) -> Operation[None]:
    """Write a value in a row of its own, only to prove that writing works; it has to differ from the last one."""
    yield from ask("try_to_write", value)


def agree(name: str, fresh: bytes) -> Operation[bytes]:
    """Keep a secret, unless there is one; return what stands."""
    yield from ask("keep_secret", name, fresh)
    row = yield from first("find_secret", name)
    return bytes(row[0]) if row else fresh
