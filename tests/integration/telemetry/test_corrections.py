"""What was corrected is counted, and stands in the log line of the response."""

import logging
from typing import Any

import pytest

from antiphon.telemetry.access_log import AccessLog
from antiphon.telemetry.context import about
from antiphon.telemetry.formatters import TextLines
from antiphon.telemetry.metrics import ModelNames, ResponseMetrics
from tests.support.parts import called, plain, query, scripted_parts

RUN = {"type": "function", "name": "run"}
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
FORM = {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": False}}


def rounds(count: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for number in range(count):
        items.append(
            {"type": "function_call", "call_id": f"c{number}", "name": "run", "arguments": "{}"}
        )
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": "no"})
    return items


@pytest.mark.parametrize(
    ("answers", "requested", "notes"),
    [
        ([called("run", '{"a": 1,}')], {"tools": [RUN]}, [("arguments", "repaired")]),
        (
            [called("run", '{"a'), called("run", '{"a": 1}')],
            {"tools": [RUN]},
            [("arguments", "asked_again")],
        ),
        ([called("run", '{"a'), called("run", '{"a')], {"tools": [RUN]}, [("arguments", "broken")]),
        ([plain("```\n{'n': 1}\n```")], {"text": FORM}, [("text", "repaired")]),
        ([plain("One."), plain('{"n": 1}')], {"text": FORM}, [("text", "asked_again")]),
        ([plain("One."), plain("Two.")], {"text": FORM}, [("text", "broken")]),
        ([called("run")], {"tools": [RUN], "input": rounds(4)}, [("loop", "nudged")]),
        ([], {"tools": [RUN], "input": rounds(8)}, [("loop", "stopped")]),
        ([plain("Fine.")], {}, []),
    ],
)
async def test_each_correction_is_counted_and_logged(
    answers: list[Any],
    requested: dict[str, Any],
    notes: list[tuple[str, str]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    created, _ = scripted_parts(*answers)
    metrics = ResponseMetrics(created.measures, ModelNames(created.models), lambda: 0.0)
    created.run.observers.add(metrics)
    created.run.observers.add(AccessLog())
    with caplog.at_level(logging.INFO, logger="antiphon.access"):
        await query(created, **requested)

    assert dict(created.measures.corrections.values) == {("m", *note): 1 for note in notes}
    assert about().corrected == ", ".join(map(" ".join, notes))
    line = TextLines().format(caplog.records[-1])
    assert all(" ".join(note) in line for note in notes)
