"""What makes the stores of integration tests cheap."""

import sqlite3
from collections.abc import Iterator

import pytest

from antiphon.storage.sqlite import file, store


@pytest.fixture(autouse=True)
def unsynchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests do not cut the power, so what SQLite wrote need not have reached the disk."""
    monkeypatch.setattr(file, "SYNCHRONOUS", "OFF")


@pytest.fixture(scope="session", autouse=True)
def copied(migrated: bytes) -> Iterator[None]:
    """A database in memory is a copy of one that was migrated: hundreds of tests open one."""

    def open_memory() -> sqlite3.Connection:
        connection = file.connect(":memory:")
        connection.deserialize(migrated)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "open_memory", open_memory)
        yield
