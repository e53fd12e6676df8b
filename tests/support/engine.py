"""The engine in front of a scripted model, without a server."""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from antiphon.access.keyring import Keyring
from antiphon.access.unseal import Unsealer
from antiphon.errors import BackendError
from antiphon.gateway import Gateway
from antiphon.history.context import Context
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import decode_request
from antiphon.runs.engine import Engine
from antiphon.runs.plan import RunPlan
from antiphon.runs.prepare import compacts, open_response, tools_of, view_of
from antiphon.runs.run import Run, turn_of
from antiphon.runs.turn import Turn
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.tools.registry import Toolset
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.prefix import Conversation
from antiphon.upstream.backend import Backend, Listing, Reply
from antiphon.upstream.backend_state import BackendState, Target
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Route, Router
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.replay import completion, delta, sse

NOW = 1_700_000_000

Chunks = list[dict[str, Any]]


def said(*words: str) -> Chunks:
    """A streamed answer of these words."""
    return [*(delta(content=word) for word in words), delta("stop")]


def called(name: str = "look", arguments: str = "{}", call_id: str = "call_1", **extra: Any) -> Chunks:
    """A streamed answer that is one call; `extra` stands in the call."""
    call = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **extra}
    return [delta(tool_calls=[call]), delta("tool_calls")]


def plain(content: str | None = "Hello", **message: Any) -> dict[str, Any]:
    """A plain answer."""
    answer: dict[str, Any] = json.loads(completion(content, **message))
    return answer


def engine(*answers: Any, dialect: str = "generic", store: Store | None = None) -> tuple[Engine, ScriptedBackend]:
    """An engine whose one model gives these answers in turn, with ids that count and a clock that stands.

    Chunks go out as an event stream even where a plain answer was asked for.
    """
    backend = ScriptedBackend([sse(*one) if isinstance(one, list) else one for one in answers], models=["m"])
    numbers = itertools.count(1)
    made = Engine(
        ModelRegistry([backend], lambda: NOW, {backend.name: dialect}),
        store or SqliteStore.open("sqlite://", now=lambda: NOW),
        lambda prefix: f"{prefix}_{next(numbers):032x}",
        lambda: NOW,
    )
    return made, backend


async def begin(engine: Engine, **body: Any) -> Run:
    """Begin a response to this body."""
    return await Gateway(engine).create(decode_request(msgspec.json.encode({"model": "m", "input": "Hi", **body})))


async def ask(engine: Engine, **body: Any) -> dict[str, Any]:
    """Ask plainly; the response as JSON."""
    return json.loads(msgspec.json.encode(await (await begin(engine, **body)).result()))  # type: ignore[no-any-return]


async def stream(engine: Engine, **body: Any) -> list[dict[str, Any]]:
    """Ask for a stream; its events as JSON."""
    run = await begin(engine, stream=True, **body)
    return [json.loads(msgspec.json.encode(event)) async for batch in run.events() for event in batch]


def target(dialect: str = "generic") -> Target:
    """A model of this family, at a backend that is never asked."""
    return Target(BackendState(ScriptedBackend([]), DIALECTS[dialect], BackendOptions()), "m", "m")


def turn_for(
    request: CreateResponse,
    context: Context,
    to: Target | None = None,
    made: Callable[[], Sequence[Any]] = list,
    toolset: Toolset | None = None,
) -> Turn:
    """The turn of a response that is made by this model."""
    items, toolset = Conversation([*context.history, *context.input], context.prefix), toolset or Toolset()
    plan = RunPlan(
        request=toolset.described(request),
        context=context,
        items=items,
        response=open_response(request, "resp_1", NOW),
        view=view_of(request),
        route=Route(Router(ModelRegistry([], lambda: NOW)), [to or target()], "", "", is_patient=True, is_late=False),
        chains=(),
        unseal=Unsealer(Keyring(), "", refuses=False),
        recorder=None,
        tools=tools_of(toolset, request, items),
        compacts=compacts(request, items),
        cache=None,
        resume=None,
        ignored_tools=(),
        is_stream=bool(request.stream),
    )
    return turn_of(plan, made)


class Listed:
    """A backend that lists these models, or cannot be reached where `models` is None."""

    def __init__(self, name: str, models: Sequence[str] | None, url: str = "http://127.0.0.1:1/v1") -> None:
        self.name, self.url, self.models = name, url, models
        self.asked = 0

    async def post(self, path: str, body: bytes) -> Reply:
        raise BackendError(f"Backend '{self.name}' is unreachable: connection refused.", status=503)

    async def get(self, path: str) -> Reply:
        raise BackendError(f"Backend '{self.name}' is unreachable: connection refused.", status=503)

    async def list_models(self) -> Listing:
        self.asked += 1
        if self.models is None:
            raise BackendError(f"Backend '{self.name}' is unreachable: connection refused.", status=503)
        return Listing([{"id": model, "owned_by": self.name} for model in self.models])

    async def close(self) -> None:
        pass


def listed(name: str, *models: str) -> Backend:
    """A backend with these models."""
    return Listed(name, models)
