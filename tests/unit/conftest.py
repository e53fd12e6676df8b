"""Unit tests touch nothing but files: no socket, no process, no database."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

FORBIDDEN = {
    *("socket.bind", "socket.connect", "socket.getaddrinfo", "sqlite3.connect"),
    *("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"),
}

_is_guarded = False


def _guard(event: str, arguments: tuple[Any, ...]) -> None:
    if _is_guarded and event in FORBIDDEN:
        raise RuntimeError(
            f"{event}: a test that needs it belongs to tests/integration or tests/system"
        )


sys.addaudithook(_guard)


@pytest.fixture(autouse=True)
def guarded() -> Iterator[None]:
    global _is_guarded
    _is_guarded = True
    yield
    _is_guarded = False
