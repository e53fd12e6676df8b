"""A machine's session has a lower priority, even if the system makes the server wait for that."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon.sandbox import supervisor
from antiphon.sandbox.supervisor import PRIORITY, Supervisor

ENDED: Any = SimpleNamespace(pid=2**22, returncode=None)
"""A process that no system has: its number is above the largest."""


async def test_a_priority_is_lowered_once_many_others_had_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = list[str]()
    refusals = iter([True] * 100)

    def write(path: Path, text: str) -> None:
        if next(refusals, False):
            raise BlockingIOError
        written.append(f"{path} {text}")

    monkeypatch.setattr(supervisor, "PAUSE", 0)
    monkeypatch.setattr(Path, "write_text", write)
    await Supervisor(ENDED).lower()
    assert written == [f"/proc/{ENDED.pid}/autogroup {PRIORITY}"]


async def test_a_system_without_session_groups_is_not_queried_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requested = list[Path]()

    def write(path: Path, text: str) -> None:
        requested.append(path)
        raise FileNotFoundError

    monkeypatch.setattr(Path, "write_text", write)
    await Supervisor(ENDED).lower()
    assert len(requested) == 1
