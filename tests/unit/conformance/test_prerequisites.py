"""One fault is one root cause; and a server that answers everything alike keeps nothing."""

from collections.abc import Iterator

import pytest

from antiphon_verify.areas import CASES, REQUIREMENTS
from antiphon_verify.case import Case
from antiphon_verify.choice import under
from antiphon_verify.exchange import Request
from antiphon_verify.judging import Plan
from antiphon_verify.prerequisites import KNOWN, NEEDS, needs_of, with_needs
from antiphon_verify.reading import at, listed
from antiphon_verify.replies import Replies, Reply, error, states
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.report import Result
from antiphon_verify.requirement import Verdict
from antiphon_verify.run import FinishedCase, results
from antiphon_verify.trial import Steps, Trial
from tests.support.cases import each
from tests.unit.conformance.playing import play
from tests.unit.conformance.test_report import report

CREATED = "responses:objects:made"
WHOLE = "responses:stream:whole"


class Forever(list[Reply]):
    """A script whose one reply answers everything."""

    def __iter__(self) -> Iterator[Reply]:
        while True:
            yield self[0]


def judged(script: Replies) -> dict[str, Result]:
    tried = [FinishedCase(case, play(case, script), ()) for case in CASES]
    return {one.id: one for one in results(REQUIREMENTS.values(), tried, {})}


JSON = {"content-type": "application/json"}

CONSTANT: dict[str, Reply] = {
    "null": Reply(200, b"null", JSON),
    "an object": Reply(200, b"{}", JSON),
    "a list": Reply(200, b"[]", JSON),
    "a text": Reply(200, b'"ok"', JSON),
    "a page": Reply(
        200, b"<!DOCTYPE html><html><body>Hello.</body></html>", {"content-type": "text/html"}
    ),
    "no content": Reply(204),
    "nothing": Reply(200, b""),
    "an error": error("No."),
    "an error behind a 200": states({"error": {"message": "No.", "type": "invalid_request_error"}}),
    "a failure": error("Boom.", 500),
    "a redirect": Reply(302, headers={"location": "/login"}),
    "a demand for a key": error("Who are you?", 401),
    "too many requests": error("Later.", 429),
    "an empty stream": Reply(200, b"data: [DONE]\n\n", {"content-type": "text/event-stream"}),
    "a response without output": states(RESPONSE | {"output": []}),
}


@pytest.mark.wide
@pytest.mark.parametrize("answer", CONSTANT.values(), ids=CONSTANT)
def test_a_server_that_answers_everything_alike_keeps_nothing(answer: Reply) -> None:
    found = judged(Forever([answer])).values()

    assert [one.id for one in found if one.outcome == "passed"] == []
    assert not report(*found).conforms


@pytest.mark.wide
def test_a_server_that_refuses_every_creation_is_broken_at_the_root_and_excused_of_nothing() -> (
    None
):
    found = judged(
        Forever([error("Unknown parameter: 'priority'.", 400, "unknown_parameter", "priority")])
    )
    roots = {cause.failed.id: len(cause.blocked) for cause in report(*found.values()).causes}

    assert {one.area for one in found.values() if one.outcome == "not offered"} == {
        "responses:agents",
        "responses:emulation",
        "responses:prompts",
        "responses:websocket",
    }, "add an area that a server need not have; any other needs a row in `prerequisites.py`"
    assert roots[CREATED] > 300
    assert next(iter(roots)) == CREATED


def without_hosted_tools(request: Request) -> Reply:
    """Reply as a server that breaks down over every tool that is no function."""
    body = request.body if isinstance(request.body, dict) else {}
    types = {at(tool, "type") for tool in listed(body, "tools")}
    return error("Boom.", 500) if types - {"function"} else states(RESPONSE)


@pytest.mark.wide
def test_a_server_that_breaks_down_over_hosted_tools_is_judged_once_for_each_tool() -> None:
    found = judged(Forever([without_hosted_tools]))
    mcp = {one.id.rpartition(":")[2]: one for one in found.values() if one.area == "responses:mcp"}
    broken = {name for name, one in mcp.items() if one.outcome == "failed"}

    assert broken == {"list-item", "no-address", "no-label", "same-label"}
    assert {one.blocked_by for name, one in mcp.items() if name not in broken} == {
        "responses:mcp:list-item"
    }
    assert (
        found["responses:web-search:max-tool-calls"].blocked_by
        == "responses:hosted:web-search-item"
    )
    assert found["responses:hosted:code-order"].blocked_by == "responses:hosted:code-item"


@each("id", REQUIREMENTS)
def test_every_need_is_a_requirement_and_leads_to_a_root(id: str) -> None:
    for need in needs_of(id):
        assert id not in with_needs(set(need))
        assert set(need) <= REQUIREMENTS.keys()


def test_every_row_is_about_something() -> None:
    assert all(under([place]) for place in NEEDS)


def test_every_requirement_that_others_need_is_judged_by_a_case_of_its_own() -> None:
    needed = {each for row in NEEDS.values() for need in row for each in need}

    assert needed <= {name for case in CASES for name in case.own}


def script(trial: Trial) -> Steps:
    """Do nothing: the verdicts are written down."""
    yield from ()


def stood(*verdicts: tuple[str, Verdict], asides: tuple[str, ...] = ()) -> dict[str, Result]:
    """Return what becomes of requirements with these verdicts, each of a case of its own unless
    among `asides`.
    """
    tried = [
        FinishedCase(
            Case(
                name, () if name in asides else (name,), script, (name,) if name in asides else ()
            ),
            {name: its},
            (),
        )
        for name, its in verdicts
    ]
    return {one.id: one for one in results([REQUIREMENTS[name] for name, _ in verdicts], tried, {})}


OK = Verdict("passed")
BROKEN = Verdict("failed")

LACKING = Verdict("not offered")
UNSEEN = Verdict("skipped")


def test_what_needs_what_fails_is_blocked_by_the_root_and_not_by_what_is_between() -> None:
    rule = "responses:stream:item-done-once"
    found = stood((CREATED, BROKEN), (WHOLE, BROKEN), (rule, OK))

    assert [one.outcome for one in found.values()] == ["failed", "blocked", "blocked"]
    assert found[WHOLE].blocked_by == found[rule].blocked_by == CREATED


def test_what_is_not_offered_leaves_what_needs_it_not_offered() -> None:
    found = stood(
        ("responses:compact:object", LACKING),
        ("responses:compact:item", LACKING),
        ("responses:compact:trigger", BROKEN),
    )

    assert found["responses:compact:trigger"].outcome == "not offered"
    assert "responses:compact:object" in found["responses:compact:trigger"].came


BLOCKED_BY = {
    "responses:agents:resumed": "responses:agents:made",
    "responses:file-search:item": "responses:vector-stores:made",
    "responses:file-search:too-many": "responses:files:created",
    "responses:file-search:echoed": "responses:vector-stores:made",
    "responses:vector-stores:searched": "responses:files:created",
    "responses:containers:file-attached": "responses:files:created",
    "responses:code-interpreter:by-id": "responses:containers:created",
    "responses:models:entry": "responses:models:list",
    "responses:vector-stores:whole": "responses:vector-stores:attached",
    "responses:conversations:unstored": "responses:conversations:appended",
    "responses:mcp:call-structured": "responses:mcp:call-output",
    "responses:errors:window-in-foreground": "responses:background:window",
    "responses:prompt-cache:streamed": "responses:prompt-cache:prewarm",
    "responses:prompt-cache:continued": "responses:prompt-cache:prewarm",
    "responses:prompt-cache:background": "responses:prompt-cache:prewarm",
    "responses:websocket:prewarm": "responses:prompt-cache:prewarm",
    "responses:prompt-cache:not-found": "responses:prompt-cache:diagnostics",
}
"""By a requirement: the one that fails if the server lacks what both need, such as stored files or
an option.
"""


@each(("name", "root"), BLOCKED_BY.items())
def test_what_a_case_creates_first_is_what_fails(name: str, root: str) -> None:
    others = [(need, OK) for need in with_needs({name}) - {name, root}]

    assert stood(*others, (root, BROKEN), (name, BROKEN))[name].blocked_by == root


def test_a_server_that_resumes_no_stream_need_not_refuse_to() -> None:
    whole = "responses:resume:whole"
    foreground = "responses:resume:foreground"
    needed = [(need, OK) for need in with_needs({whole}) - {whole}]

    assert (
        stood(*needed, (whole, LACKING), (foreground, BROKEN))[foreground].outcome == "not offered"
    )


def test_a_server_that_ignores_unknown_parameters_need_not_refuse_a_window() -> None:
    window, ignored, stored = "responses:errors:window-with-stream", *KNOWN
    needed = [(need, OK) for need in with_needs({window}) - {window, ignored, stored}]

    assert (
        stood(*needed, (ignored, BROKEN), (stored, BROKEN), (window, BROKEN))[window].blocked_by
        == ignored
    )
    assert (
        stood(*needed, (ignored, BROKEN), (stored, OK), (window, BROKEN))[window].outcome
        == "failed"
    )
    assert (
        stood(*needed, (ignored, OK), (stored, BROKEN), (window, BROKEN))[window].outcome
        == "failed"
    )


def test_of_alternatives_that_all_fail_the_first_is_the_root() -> None:
    at_once = "responses:background:at-once"
    reported = "responses:background:told"
    needed = [(need, OK) for need in with_needs({reported}) - {reported}]

    assert stood(*needed, (at_once, BROKEN), (reported, BROKEN))[reported].blocked_by == at_once
    assert stood(*needed, (at_once, BROKEN), (reported, OK))[reported].outcome == "passed"
    assert stood(*needed, (at_once, OK), (reported, BROKEN))[reported].outcome == "failed"


def test_one_need_that_holds_is_enough() -> None:
    found = stood(
        ("responses:conversations:created", BROKEN),
        ("responses:conversations:retrieved", OK),
        ("responses:conversations:used", OK),
        (CREATED, OK),
    )

    assert found["responses:conversations:used"].outcome == "passed"


def test_an_unverified_prerequisite_proves_nothing_that_depends_on_it() -> None:
    found = stood((CREATED, UNSEEN), (WHOLE, OK))

    assert found[WHOLE].outcome == "skipped"


def test_what_another_case_finds_by_the_way_blocks_nothing() -> None:
    found = stood(
        (CREATED, OK), (WHOLE, BROKEN), ("responses:stream:item-done-once", OK), asides=(WHOLE,)
    )

    assert found["responses:stream:item-done-once"].outcome == "passed"
    assert found[WHOLE].outcome == "failed"


def test_a_run_of_one_area_requests_its_prerequisites_and_displays_them_only_as_causes() -> None:
    plan = Plan(base_url="http://x/v1", requirements=[REQUIREMENTS["responses:chain:fork"]])
    broken = [FinishedCase(case, dict.fromkeys(case.ids, BROKEN), ()) for case in plan.all_cases]
    well = [FinishedCase(case, dict.fromkeys(case.ids, OK), ()) for case in plan.all_cases]

    assert [case.name for case in plan.cases] == ["a_chain_is_forked"]
    assert [one.id for one in results(plan.requirements, broken, {})] == [
        CREATED,
        "responses:chain:fork",
    ]
    assert [one.id for one in results(plan.requirements, well, {})] == ["responses:chain:fork"]
