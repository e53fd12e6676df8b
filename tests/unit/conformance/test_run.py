"""A run: side by side where the server is quick, and to its end whatever happens."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from antiphon_verify.case import Case
from antiphon_verify.exchange import Exchange, Request, Step
from antiphon_verify.reading import MISSING
from antiphon_verify.replies import Reply, error, states, streams
from antiphon_verify.replies.completions import COMPLETION
from antiphon_verify.report import Shown
from antiphon_verify.requirement import Verdict, must
from antiphon_verify.run import PATIENCE, FinishedCase, Run, results
from antiphon_verify.traits import UNKNOWN_PATH
from antiphon_verify.trial import MOST_AT_ONCE, Steps, Trial
from tests.support.waiting import let_others_run

REQUIREMENT = must("a:b:c", "spec 7", "It is so.")


class Scripted:
    """A subject that answers everything alike, and knows how many asked at once."""

    def __init__(
        self, answer: Reply, stream: Reply | None = None, plain: Reply | None = None
    ) -> None:
        self.answer = answer
        self.stream = stream or answer
        self.plain = plain or answer
        self.now = 0
        self.most = 0
        self.requested = 0

    @asynccontextmanager
    async def visit(self, seconds: float) -> AsyncIterator[SimpleNamespace]:
        yield SimpleNamespace(perform=self.perform, together=self.together, fetch=self.fetch)

    async def fetch(self, request: Request) -> Exchange:
        return self.plain.to(request)

    async def together(self, *requests: Request) -> list[Exchange]:
        return [self.stream.to(request) for request in requests]

    tools = None

    async def perform(self, step: Step) -> Exchange:
        assert isinstance(step, Request)
        self.requested += 1
        self.now += 1
        self.most = max(self.most, self.now)
        await let_others_run(5)
        self.now -= 1
        return self.answer.to(step)


def script(trial: Trial) -> Steps:
    exchange = yield from trial.get("/x")
    trial.expect("a:b:c", trial.whole(exchange).get("so") is True, "It was not so.")


CASES = [Case(f"case {number}", ("a:b:c",), script) for number in range(30)]


async def test_a_fast_server_receives_many_requests_at_once_and_its_answers_stay_in_order() -> None:
    subject = Scripted(states({"so": True}))
    done = []
    tried = await Run(subject, "m", on_done=lambda: done.append(1)).try_all(CASES)  # type: ignore[arg-type]

    assert [one.case for one in tried] == CASES
    assert {one.verdicts["a:b:c"] for one in tried} == {Verdict("passed")}
    assert (subject.most, len(done)) == (MOST_AT_ONCE, 30)


@pytest.mark.parametrize(("took", "most"), [(0.9, 8), (2.0, 4), (5.0, 1), (90.0, 1)])
async def test_a_slow_server_receives_fewer_requests_at_once(took: float, most: int) -> None:
    subject = Scripted(states({"so": True}))
    times = iter([100.0, 100.0 + took])
    await Run(subject, "m", now=lambda: next(times)).try_all(CASES)  # type: ignore[arg-type]

    assert subject.most == most


async def test_a_server_that_drops_a_stream_for_another_is_called_sequentially() -> None:
    subject = Scripted(
        states({"so": True}), stream=Reply(200, b"data: {", fault="the connection broke")
    )
    await Run(subject, "m").try_all(CASES)  # type: ignore[arg-type]

    assert subject.most == 1


async def test_a_server_without_either_api_receives_concurrent_requests() -> None:
    subject = Scripted(states({"so": True}), stream=Reply(404))
    await Run(subject, "m").try_all(CASES)  # type: ignore[arg-type]

    assert subject.most == MOST_AT_ONCE


@pytest.mark.parametrize(
    ("plain", "cap"),
    [
        (states({}), "max_tokens"),
        (
            error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            "max_completion_tokens",
        ),
    ],
)
async def test_a_server_that_wants_the_newer_name_of_the_limit_gets_it(
    plain: Reply, cap: str
) -> None:
    def request(trial: Trial) -> Steps:
        exchange = yield from trial.chat("Hello.")
        trial.expect("a:b:c", cap in exchange.request.body, exchange.came)

    case = Case("ask", ("a:b:c",), request)
    [one] = await Run(Scripted(states({}), plain=plain), "m").try_all([case])  # type: ignore[arg-type]

    assert one.verdicts["a:b:c"] == Verdict("passed")


async def test_the_concurrency_can_be_configured() -> None:
    subject = Scripted(states({"so": True}))
    await Run(subject, "m", at_once=3).try_all(CASES)  # type: ignore[arg-type]

    assert subject.most == 3


async def test_a_server_that_leaves_everything_unanswered_is_left_alone() -> None:
    subject = Scripted(Reply(0, fault="the time was up"))
    tried = await Run(subject, "m", at_once=1).try_all(CASES)  # type: ignore[arg-type]
    outcomes = [one.verdicts["a:b:c"].outcome for one in tried]

    assert subject.requested == PATIENCE
    assert outcomes == ["failed"] * PATIENCE + ["skipped"] * (30 - PATIENCE)


async def test_an_error_in_a_case_is_reported_and_does_not_end_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def stumble(trial: Trial) -> Steps:
        exchange = yield from trial.get("/x")
        trial.expect("a:b:c", exchange.json["none"])

    with caplog.at_level(logging.ERROR):
        tried = await Run(Scripted(states({})), "m").try_all(
            [Case("stumble", ("a:b:c",), stumble), CASES[0]]
        )  # type: ignore[arg-type]

    verdict = tried[0].verdicts["a:b:c"]
    assert (verdict.outcome, verdict.seen) == ("failed", 1)
    assert "(KeyError)" in verdict.came
    assert tried[1].verdicts["a:b:c"].outcome == "failed"
    assert "stumble" in caplog.text


async def test_no_cases_are_no_results() -> None:
    assert await Run(Scripted(states({})), "m").try_all([]) == []  # type: ignore[arg-type]


def tried(*verdicts: Verdict) -> list[FinishedCase]:
    exchanges = [
        states({"number": number}).to(Request(method="GET", path="/x")) for number in range(3)
    ]
    return [FinishedCase(CASES[0], {"a:b:c": verdict}, exchanges) for verdict in verdicts]


def test_the_worst_of_several_cases_stands_with_the_exchange_that_showed_it() -> None:
    [result] = results(
        [REQUIREMENT], tried(Verdict("passed"), Verdict("failed", "It was not.", 2)), {}
    )

    assert (result.outcome, result.came, result.is_breach) == ("failed", "It was not.", True)
    assert result.exchanges == (
        Shown(request="GET /x", answer='200\ncontent-type: application/json\n\n{"number": 1}'),
    )
    assert (result.sentence, result.source, result.level) == ("It is so.", "spec 7", "must")


def test_what_is_known_is_no_news() -> None:
    [broken] = results(
        [REQUIREMENT], tried(Verdict("failed", "It was not.", 1)), {"a:b:c": "It never was."}
    )
    [stored] = results([REQUIREMENT], tried(Verdict("passed")), {"a:b:c": "It never was."})

    assert (broken.outcome, broken.came, broken.known) == (
        "skipped",
        "It was not.",
        "It never was.",
    )
    assert (stored.outcome, stored.known) == ("passed", "It never was.")


def test_what_was_left_out_is_skipped() -> None:
    [result] = results(
        [REQUIREMENT],
        [one.without({"a:b:c"}) for one in tried(Verdict("failed", "It was not."))],
        {},
    )

    assert (result.outcome, result.came) == ("skipped", "Skipped on request.")


class Mannered(Scripted):
    """A subject that answers by path, and tells what it was asked."""

    def __init__(self, answers: dict[str, Reply]) -> None:
        super().__init__(states({"so": True}))
        self.answers = answers
        self.bodies = []

    async def fetch(self, request: Request) -> Exchange:
        return self.answers.get(request.path, Reply(404)).to(request)

    async def perform(self, step: Step) -> Exchange:
        assert isinstance(step, Request)
        self.bodies.append(step.body)
        return self.answers[step.path].to(step)


async def test_a_server_with_default_streaming_receives_stream_false_unless_the_default_is_judged() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    def request(trial: Trial) -> Steps:
        yield from trial.respond("Hello.")
        yield from trial.respond("Hello.", stream=True)
        yield from trial.respond("Hello.", stream=MISSING)
        yield from trial.chat("Hello.")

    subject = Mannered(
        {
            "/responses": streams([{"type": "response.created"}]),
            "/chat/completions": states(COMPLETION),
        }
    )
    await Run(subject, "m").try_all([Case("ask", ("a:b:c",), request)])  # type: ignore[arg-type]

    assert [body.get("stream") for body in subject.bodies] == [False, True, None, None]


async def test_an_unknown_path_behind_a_200_shows_how_the_server_reports_an_absence() -> None:
    def create(trial: Trial) -> Steps:
        trial.whole((yield from trial.post("/conversations", {})))

    def lost(path: str) -> Reply:
        return states(
            {"error": f"Unexpected endpoint or method. (POST {path}). Returning 200 anyway"}
        )

    subject = Mannered({path: lost(path) for path in ("/conversations", UNKNOWN_PATH)})
    [one] = await Run(subject, "m").try_all([Case("create", ("a:b:c",), create)])  # type: ignore[arg-type]

    assert one.verdicts["a:b:c"].outcome == "not offered"
