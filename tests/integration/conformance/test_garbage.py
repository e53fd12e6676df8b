"""Against a server that answers garbage there is a report, and never a traceback."""

import logging
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from antiphon_verify.areas import CASES
from antiphon_verify.case import Case
from antiphon_verify.choice import chosen
from antiphon_verify.judging import Plan, judge
from antiphon_verify.replies import Reply, states
from antiphon_verify.report import decode_reports, encode_report
from tests.integration.conformance.garbage import GARBAGE, Kind, answering, whole
from tests.support.chance import examples
from tests.unit.conformance.playing import play


@pytest.mark.wide
@pytest.mark.parametrize("kind", GARBAGE.values(), ids=GARBAGE)
async def test_garbage_is_reported(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    async with answering(kind) as url:
        plan = Plan(base_url=url, requirements=chosen(), model="demo", limit=0.3, at_once=8)
        with caplog.at_level(logging.ERROR):
            report = await judge(plan)

    assert not report.conforms
    assert len(report.results) == len(plan.requirements)
    assert caplog.records == []
    assert decode_reports([("report", encode_report(report))]) == [report]


TEXTS = st.sampled_from(
    ["", "x", "message", "function_call", "response.created", "list", "completed", "assistant"]
)

NAMES = st.sampled_from(
    [
        *(
            "id",
            "object",
            "type",
            "status",
            "output",
            "content",
            "role",
            "choices",
            "delta",
            "message",
            "index",
            "usage",
        ),
        *(
            "data",
            "error",
            "code",
            "item",
            "response",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "call_id",
            "text",
        ),
        *(
            "finish_reason",
            "logprobs",
            "annotations",
            "summary",
            "has_more",
            "first_id",
            "items",
            "metadata",
            "token",
        ),
    ]
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)

STATUSES = st.sampled_from([200, 200, 200, 200, 201, 101, 400, 404, 405, 422, 500, 0])


def framed(values: list[Any]) -> bytes:
    return b"".join(b"data: " + states(value).body + b"\n\n" for value in values)


BODIES = (
    VALUES.map(lambda value: states(value).body)
    | st.lists(VALUES, max_size=4).map(framed)
    | st.binary(max_size=20)
)

ANSWERS = st.builds(Reply, status=STATUSES, body=BODIES, fault=st.sampled_from(["", "", "", "cut"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@examples(3, suppress_health_check=list(HealthCheck))
@given(script=st.lists(ANSWERS, max_size=6))
def test_no_answer_makes_a_case_stumble(case: Case, script: list[Reply]) -> None:
    assert play(case, script).keys() == set(case.ids)


STATED = {
    "responses:headers",
    "responses:models",
    "responses:objects",
    "responses:paths",
    "transport:http",
    "transport:sse",
}
"""Areas that judge headers and single keys, of which an empty list of models has some."""


@pytest.mark.wide
async def test_a_server_that_accepts_everything_proves_nothing() -> None:
    async with answering(whole(b'{"object": "list", "data": []}')) as url:
        report = await judge(Plan(base_url=url, requirements=chosen(), model="demo", limit=5.0))
    stored = {
        one.id
        for one in report.results
        if one.outcome == "passed" and one.level == "must" and one.area not in STATED
    }

    assert {one for one in stored if "never-ours" not in one and "alive" not in one} <= {
        "chat:images:bad-data"
    }
