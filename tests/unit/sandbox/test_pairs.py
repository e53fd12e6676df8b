"""What Python programs in a machine without sockets get instead of them, as far as it shows outside
of a machine.
"""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon.sandbox import pairs
from antiphon.sandbox.pairs import CHANGES


def test_the_server_imports_everything_as_usual() -> None:
    assert not [finder for finder in sys.meta_path if isinstance(finder, pairs.Pairs)]


@pytest.mark.parametrize(
    ("has_sockets", "default", "used"),
    [(True, "forkserver", "forkserver"), (False, "forkserver", "fork"), (False, "fork", "fork")],
)
def test_new_processes_are_forked_where_a_server_of_them_cannot_listen(
    has_sockets: bool, default: str, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def new_socket() -> Any:
        if not has_sockets:
            raise PermissionError
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setitem(sys.modules, "_socket", SimpleNamespace(socket=new_socket))
    known = {name: SimpleNamespace(_name=name) for name in ("fork", "forkserver")}
    chosen = SimpleNamespace(_default_context=known[default])
    CHANGES["multiprocessing.context"](
        SimpleNamespace(_concrete_contexts=known, _default_context=chosen)
    )
    assert list(vars(chosen).values()) == [known[used]]
