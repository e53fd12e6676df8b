"""Whatever a backend refuses or writes differently, the client has its answer: the rows of
`families`, over HTTP.
"""

import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from antiphon.build.backends import backends_of
from antiphon.config import BackendConfig, Settings
from tests.integration.server.families.family import Values
from tests.integration.server.families.rows import DIALECTS, ROWS, Row
from tests.support.refusing import Request, error, refusal
from tests.support.replay import Answer, ReplayBackend
from tests.support.server import RunningServer, serve

LEAST = 150
"""Rows that fail without what answers the families, or are guards."""

BY_MODEL = {row.model: row for row in ROWS}
UNAVAILABLE = "gone-"
"""Begins the name of a model whose backend does not serve it, so that another answers."""


class Stage:
    """A server in front of a backend of each dialect; every row has a model of its own there."""

    def __init__(self) -> None:
        self.taken: dict[str, list[Request]] = defaultdict(list)
        """The requests that were answered, by model."""
        self.refused: dict[str, list[Request]] = defaultdict(list)
        self.server: RunningServer | None = None

    def play(self, sent: Request) -> Answer:
        row = BY_MODEL[sent["model"]]
        what = row.family.refuses(row.dialect)
        if what is not None and what.is_met(sent):
            self.refused[row.model].append(sent)
            return refusal(sent, what)
        self.taken[row.model].append(sent)
        return row.family.plays(sent)

    async def send_request(self, row: Row, **body: Any) -> Request:
        """The response, or the error."""
        assert self.server is not None
        model = UNAVAILABLE + row.model if row.way == "failover" else row.model
        request_body = {
            "input": "Hi",
            **row.family.requested,
            **body,
            "model": model,
            "stream": row.stream,
        }
        async with self.server.http.post(
            f"{self.server.url}/responses", json=request_body
        ) as reply:
            text = await reply.text()
            assert reply.status == row.family.status or row.stream, text
        if not text.startswith("event:"):
            return json.loads(text)  # type: ignore[no-any-return]
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        return events[-1].get("response") or events[-1]  # type: ignore[no-any-return]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    one = Stage()
    async with AsyncExitStack() as stack:
        removed = ReplayBackend(lambda _: error("Insufficient credits.", 402))
        removed.models = [{"id": UNAVAILABLE + row.model} for row in ROWS if row.way == "failover"]
        await stack.enter_async_context(removed.serve())
        configured = [BackendConfig(url=removed.url, name="gone", dialect="generic", api="chat")]
        for dialect in DIALECTS:
            backend = ReplayBackend(one.play)
            backend.models = [{"id": row.model} for row in ROWS if row.dialect == dialect]
            await stack.enter_async_context(backend.serve())
            configured.append(
                BackendConfig(url=backend.url, name=dialect, dialect=dialect, api="chat")
            )
        line = await backends_of(Settings(backends=configured), {})
        fallback = {
            model["id"]: [model["id"].removeprefix(UNAVAILABLE)] for model in removed.models
        }
        serving = serve(
            *line.backends, shares=line.shares, dialects=line.dialects, fallback=fallback
        )
        one.server = await stack.enter_async_context(serving)
        await one.server.parts.models.refresh()
        yield one


def at(value: Any, path: str) -> Any:
    """The value at a path; an ellipsis where there is none."""
    for step in path.split("."):
        is_index = isinstance(value, list) and step.lstrip("-").isdigit()
        try:
            value = value[int(step)] if is_index else value[step]
        except (IndexError, KeyError, TypeError):
            return ...
    return value


def found(value: Any, expected: Values) -> dict[str, Any]:
    return {path: at(value, path) for path in expected}


def next_input(response: Request) -> list[Request]:
    """The results of the calls of a response, or what the user says next."""
    created = [item for item in response["output"] if item["type"] == "function_call"]
    results = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}
        for call in created
    ]
    return results or [{"role": "user", "content": "And then?"}]


async def second_turn(stage: Stage, row: Row, first: Request, more: Request) -> Request:
    """Go on from a response in the row's way."""
    provided = next_input(first)
    if row.way in ("chain", "failover"):
        more = {**more, "previous_response_id": first["id"]}
    elif row.way in ("replay", "unstored"):
        requested = row.family.requested.get("input") or [{"role": "user", "content": "Hi"}]
        provided = [*requested, *first["output"], *provided]
    elif row.way == "bare":
        requested = row.family.requested.get("input") or [{"role": "user", "content": "Hi"}]
        created = [item for item in first["output"] if item["type"] == "function_call"]
        provided = [
            *requested,
            *(
                {name: call[name] for name in ("type", "call_id", "name", "arguments")}
                for call in created
            ),
            *provided,
        ]
    return await stage.send_request(row, **more, input=provided)


def name_of(row: Row) -> str:
    return f"{row.name}-{row.dialect}-{row.way}-{row.mode}{'-guard' if row.is_guard else ''}"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("row", ROWS, ids=name_of)
async def test_the_client_has_its_answer(stage: Stage, row: Row) -> None:
    family = row.family
    more = {}
    if row.way == "unstored":
        more = {"store": False, "include": ["reasoning.encrypted_content"]}
    elif row.way == "replay":
        more = {"include": ["reasoning.encrypted_content"]}
    elif row.way == "conversation":
        assert stage.server is not None
        more = {"conversation": (await stage.server.post("/conversations", json={}))[1]["id"]}
    first = await stage.send_request(row, **more)
    assert found(first, family.answer) == family.answer, first
    if family.status != 200 or first["status"] != "completed":
        return
    taken = stage.taken[row.model]
    sent = {**family.sent, **family.sent_at.get(row.dialect, {})}
    assert found(taken[-1], sent) == sent
    if family.stored and row.way != "unstored":
        await check_stored(stage, first, family.stored)
    refused = len(stage.refused[row.model])
    assert refused <= 2  # once, and once more where switching thinking off does not help
    if row.way == "alone":
        return
    second = await second_turn(stage, row, first, more)
    assert second.get("status") == "completed", second
    sent |= family.later
    assert found(taken[-1], sent) == sent
    assert len(stage.refused[row.model]) <= max(refused, 0 if family.sent else 1)


async def check_stored(stage: Stage, response: Request, expected: Values) -> None:
    """What the client sent is listed as it was sent."""
    assert stage.server is not None
    _, listed = await stage.server.get(
        f"/responses/{response['id']}/input_items?order=asc&limit=100"
    )
    assert found(listed["data"], expected) == expected


def test_there_are_enough_rows() -> None:
    assert sum(not row.is_guard for row in ROWS) >= LEAST
