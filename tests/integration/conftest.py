"""Integration tests do not cut the power, so what SQLite wrote need not have reached the disk."""

import pytest

from antiphon.storage.sqlite import file


@pytest.fixture(autouse=True)
def unsynchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "SYNCHRONOUS", "OFF")
