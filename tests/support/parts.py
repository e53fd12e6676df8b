"""The parts of a process with a scripted model, without a server."""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.access.keyring import Keyring
from antiphon.access.unseal import Unsealer
from antiphon.build.foundation import Foundation
from antiphon.build.parts import ToolParts, parts_of
from antiphon.build.tools import outside_tools_of
from antiphon.config import Settings
from antiphon.errors import BackendError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.history.context import Context
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import decode_request
from antiphon.runs.plan import RunPlan
from antiphon.runs.prepare import compacts, open_response, view_of
from antiphon.runs.run import Run, turn_of
from antiphon.runs.tool_checks import toolset_of
from antiphon.runs.turn import Turn
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.tools.registry import Toolset
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.prefix import ModelConversation
from antiphon.upstream.backend import Backend, Listing, Reply
from antiphon.upstream.backend_state import BackendState, ModelTarget
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Route, Router
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.replay import completion, delta, sse

NOW = 1_700_000_000

Chunks = list[dict[str, Any]]


def stated(*words: str) -> Chunks:
    """A streamed answer of these words."""
    return [*(delta(content=word) for word in words), delta("stop")]


def called(
    name: str = "look", arguments: str = "{}", call_id: str = "call_1", **extra: Any
) -> Chunks:
    """A streamed answer that is one call; `extra` stands in the call."""
    call = {
        "index": 0,
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
        **extra,
    }
    return [delta(tool_calls=[call]), delta("tool_calls")]


def plain(content: str | None = "Hello", **message: Any) -> dict[str, Any]:
    """A plain answer."""
    answer: dict[str, Any] = json.loads(completion(content, **message))
    return answer


def scripted_parts(
    *answers: Any,
    dialect: str = "generic",
    store: Store | None = None,
    settings: Settings | None = None,
) -> tuple[Parts, ScriptedBackend]:
    """Parts whose one model gives these answers in turn, with ids that count and a clock that
    stands.

    Chunks go out as an event stream even where a plain answer was asked for.
    """
    backend = ScriptedBackend(
        [sse(*one) if isinstance(one, list) else one for one in answers], models=["m"]
    )
    models = ModelRegistry([backend], lambda: NOW, {backend.name: dialect})
    return parts_with(foundation(models, store, settings)), backend


def foundation(
    models: ModelRegistry, store: Store | None = None, settings: Settings | None = None
) -> Foundation:
    """What the parts of a process with these models are built from; responses leave no facts."""
    numbers = itertools.count(1)
    return Foundation(
        replace(settings or Settings(), facts=False),
        models,
        store or SqliteStore.open("sqlite://", now=lambda: NOW),
        new_id=lambda prefix: f"{prefix}_{next(numbers):032x}",
        now=lambda: NOW,
    )


def parts_with(base: Foundation, toolset: Toolset | None = None) -> Parts:
    """Parts that run these hosted tools, by default none."""
    parts = parts_of(base, ToolParts(outside_tools_of(base.settings, {})))
    parts.run.toolset = toolset or Toolset()
    return parts


async def begin(parts: Parts, **body: Any) -> Run:
    """Begin a response to this body."""
    return await Gateway(parts).create(
        decode_request(msgspec.json.encode({"model": "m", "input": "Hi", **body}))
    )


async def query(parts: Parts, **body: Any) -> dict[str, Any]:
    """Ask plainly; the response as JSON."""
    return json.loads(msgspec.json.encode(await (await begin(parts, **body)).result()))  # type: ignore[no-any-return]


async def stream(parts: Parts, **body: Any) -> list[dict[str, Any]]:
    """Ask for a stream; its events as JSON."""
    run = await begin(parts, stream=True, **body)
    return [
        json.loads(msgspec.json.encode(event)) async for batch in run.events() for event in batch
    ]


def target(dialect: str = "generic") -> ModelTarget:
    """A model of this family, at a backend that is never asked."""
    return ModelTarget(
        BackendState(ScriptedBackend([]), DIALECTS[dialect], BackendOptions()), "m", "m"
    )


def turn_for(
    request: CreateResponse,
    context: Context,
    to: ModelTarget | None = None,
    created: Callable[[], Sequence[Any]] = list,
    toolset: Toolset | None = None,
) -> Turn:
    """The turn of a response that is made by this model."""
    items = ModelConversation([*context.history, *context.input], context.prefix)
    toolset = toolset or Toolset()
    plan = RunPlan(
        request=toolset.described(request),
        context=context,
        items=items,
        response=open_response(request, "resp_1", NOW),
        view=view_of(request),
        route=Route(
            Router(ModelRegistry([], lambda: NOW)),
            [to or target()],
            "",
            "",
            is_patient=True,
            is_late=False,
        ),
        chains=(),
        unseal=Unsealer(Keyring(), "", refuses=False),
        recorder=None,
        tools=toolset_of(toolset, request, items),
        compacts=compacts(request, items),
        cache=None,
        resume=None,
        ignored_tools=(),
        is_stream=bool(request.stream),
    )
    return turn_of(plan, created)


class Listed:
    """A backend that lists these models, or cannot be reached where `models` is None."""

    def __init__(
        self, name: str, models: Sequence[str] | None, url: str = "http://127.0.0.1:1/v1"
    ) -> None:
        self.name = name
        self.url = url
        self.models = models
        self.requested = 0

    async def post(self, path: str, body: bytes) -> Reply:
        raise BackendError(f"Backend '{self.name}' is unreachable: connection refused.", status=503)

    async def get(self, path: str) -> Reply:
        raise BackendError(f"Backend '{self.name}' is unreachable: connection refused.", status=503)

    async def list_models(self) -> Listing:
        self.requested += 1
        if self.models is None:
            raise BackendError(
                f"Backend '{self.name}' is unreachable: connection refused.", status=503
            )
        return Listing([{"id": model, "owned_by": self.name} for model in self.models])

    async def close(self) -> None:
        pass


def listed(name: str, *models: str) -> Backend:
    """A backend with these models."""
    return Listed(name, models)
