"""Which lines a test runs."""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from mutation.tracing import IMPORTED, Tracer

CODE = """\
def choose(is_even):
    if is_even:
        return 2
    return 1


def ask(query, *values):
    return query
"""


@pytest.fixture
def untraced() -> Iterator[None]:
    before = sys.gettrace()
    yield
    threading.settrace(before)  # type: ignore[arg-type]
    sys.settrace(before)


def run(tracer: Tracer, name: str, act: Callable[[], Any], *, fails: bool = False) -> None:
    """Run a test as pytest does."""
    protocol: Any = tracer.pytest_runtest_protocol(SimpleNamespace(nodeid=name))  # type: ignore[arg-type]
    next(protocol)
    act()
    tracer.pytest_runtest_logreport(SimpleNamespace(failed=fails))  # type: ignore[arg-type]
    with pytest.raises(StopIteration):
        protocol.send(None)


def in_a_thread(act: Callable[[], Any]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


@pytest.mark.usefixtures("untraced")
def test_each_test_has_its_lines_whatever_thread_runs_them_and_failed_ones_have_none(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.py"
    file.write_text(CODE)
    names: dict[str, Any] = {}
    exec(compile(CODE, str(file), "exec"), names)
    choose = names["choose"]
    tracer = Tracer([str(file)])
    tracer.start()
    run(tracer, "even", lambda: choose(True))
    run(tracer, "odd", lambda: in_a_thread(lambda: choose(False)))
    run(tracer, "broken", lambda: choose(True), fails=True)

    assert [test.id for test in tracer.trace.tests] == ["even", "odd"]
    assert tracer.trace.failed == ["broken"]
    assert tracer.trace.lines[str(file)] == {1: [0, 1], 2: [0, 1], 3: [0], 4: [1]}


@pytest.mark.usefixtures("untraced")
def test_each_test_has_its_statements_even_after_one_that_ended_the_trace(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(CODE)
    names: dict[str, Any] = {}
    exec(compile(CODE, str(file), "exec"), names)
    tracer = Tracer([str(file)])
    run(tracer, "ending", lambda: sys.settrace(None))
    run(tracer, "asking", lambda: names["ask"]("put_key", 1))

    assert tracer.trace.statements == {"put_key": [1]}


@pytest.mark.usefixtures("untraced")
def test_each_test_has_the_lines_of_a_cached_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.py"
    file.write_text(CODE)
    module = ModuleType("cached_code")
    module.__file__ = str(file)
    exec(
        compile(f"from functools import cache\n{CODE}\nchoose = cache(choose)", str(file), "exec"),
        vars(module),
    )
    monkeypatch.setitem(sys.modules, "cached_code", module)
    tracer = Tracer([str(file)])
    for name in ("first", "second"):
        run(tracer, name, lambda: module.choose(True))

    assert tracer.trace.lines[str(file)][4] == [0, 1]


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize(("scope", "counts_for"), [("function", 0), ("session", IMPORTED)])
def test_what_sets_up_a_shared_fixture_belongs_to_no_test(
    tmp_path: Path, scope: str, counts_for: int
) -> None:
    file = tmp_path / "a.py"
    file.write_text(CODE)
    names: dict[str, Any] = {}
    exec(compile(CODE, str(file), "exec"), names)
    tracer = Tracer([str(file)])

    def set_up() -> None:
        names["ask"]("put_key")
        hook: Any = tracer.pytest_fixture_setup(SimpleNamespace(scope=scope))  # type: ignore[arg-type]
        next(hook)
        names["choose"](True)
        with pytest.raises(StopIteration):
            hook.send(None)

    run(tracer, "first", set_up)

    assert tracer.trace.lines[str(file)] == {
        1: [counts_for],
        2: [counts_for],
        3: [counts_for],
        7: [0],
        8: [0],
    }
    assert tracer.trace.statements == {"put_key": [0]}
