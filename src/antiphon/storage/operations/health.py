"""What shows that a store works: a small read, a small write, and the number of its rows."""

from collections.abc import Mapping

from antiphon.storage.operations import responses
from antiphon.storage.operations.step import Operation, query_rows, reads

TABLES = (
    *(
        "responses",
        "items",
        "events",
        "jobs",
        "conversations",
        "conversation_items",
        "chat_completions",
        "facts",
    ),
    *("keys", "deliveries", "answers", "api_keys", "files"),
)


@reads("check", is_of_all=True)
def check() -> Operation[None]:
    """Read a response that does not exist. Raises `StoreError` unless the storage responds."""
    yield from responses.load("", "resp_check")


def try_to_write(value: bytes) -> Operation[None]:
    """Write a value to a separate row, only to prove that writing works.

    The value must differ from the last one.
    """
    yield from query_rows("try_to_write", value)


@reads("inspect", is_of_all=True)
def count_rows() -> Operation[Mapping[str, int]]:
    """Return the number of rows of each table."""
    (row,) = yield from query_rows("counts")
    return dict(zip(TABLES, row, strict=True))
