"""How a trace becomes a table."""

import json
from pathlib import Path

from versions import record

QUICK = "tests/unit/test_a.py::test_quick"
SLOW = "tests/unit/test_a.py::test_slow"


def test_tests_are_chosen_until_every_function_is_called() -> None:
    calls = {
        QUICK: (0.1, {"yarl": {"a", "b"}}),
        SLOW: (9.0, {"yarl": {"a", "b", "c"}}),
        "other": (0.0, {"mcp": {"a"}}),
    }

    assert record.cover(calls, "yarl") == [QUICK, SLOW]


def test_a_test_that_calls_nothing_else_is_not_chosen() -> None:
    calls = {QUICK: (0.1, {"yarl": {"a", "b"}}), SLOW: (9.0, {"yarl": {"a", "b"}})}

    assert record.cover(calls, "yarl") == [QUICK]


def test_what_several_processes_recorded_is_added_up(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(
        json.dumps({QUICK: [0.5, "yarl URL.join"], "tests/unit/docs/t.py::t": [1.0]})
    )
    (tmp_path / "2.json").write_text(json.dumps({QUICK: [0.25, "yarl URL.path", "mcp call"]}))

    assert record.read(tmp_path) == {
        QUICK: (0.75, {"yarl": {"URL.join", "URL.path"}, "mcp": {"call"}})
    }
