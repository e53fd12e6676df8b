"""The API as methods, except for the parts in other files of this package."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from antiphon.access.limits import allows
from antiphon.access.metering import Attend, UsageLease
from antiphon.access.spending import Weight
from antiphon.access.usage import UsageFound, find_usage
from antiphon.errors import ClientError
from antiphon.forwarding.passthrough import MakeForm, Passing
from antiphon.gateway.chat_completions import ChatCompletions
from antiphon.gateway.conversations import Conversations
from antiphon.gateway.input_memory import RecentInputs
from antiphon.gateway.made import JsonObject, Made
from antiphon.gateway.parts import Parts
from antiphon.jobs import queue, replay
from antiphon.jobs.queue import Queued
from antiphon.process import going_away
from antiphon.protocol.requests import CompactRequest, CreateResponse
from antiphon.protocol.resources import (
    InputItemsQuery,
    ResponsesQuery,
)
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.validation.known_tools import decode_beside_tools, keep
from antiphon.protocol.validation.large_requests import decode_large
from antiphon.recording.facts import origin_of
from antiphon.recording.persistence import RequestIdentity, identified
from antiphon.runs.compact import compact
from antiphon.runs.input_tokens import Count, count_input_tokens
from antiphon.runs.prepare import prepare
from antiphon.runs.run import Run
from antiphon.sharing.memory import Account, Memory
from antiphon.sharing.recent import Recent
from antiphon.sharing.resources import SharedResources
from antiphon.status.code_status import CodeStatus
from antiphon.status.status import Status, profiles_of, status_of, together
from antiphon.status.storage_status import running_containers, storage_status
from antiphon.storage.notifications import Subscription
from antiphon.storage.operations import container_counts, sizes, webhooks
from antiphon.storage.operations import jobs as stored_jobs
from antiphon.storage.probe import StoreProbe
from antiphon.storage.records.responses import StoredItem
from antiphon.storage.records.tenants import ApiKey, UsageField
from antiphon.stored import response_list, responses
from antiphon.telemetry.code import code_metrics
from antiphon.telemetry.kinds import Family, Gauge, Known, families
from antiphon.telemetry.metrics import known
from antiphon.telemetry.process import process_metrics
from antiphon.telemetry.requests import RequestCounter
from antiphon.webhooks.endpoints import shown_delivery

if TYPE_CHECKING:
    from antiphon.access.key_admin import KeyAdmin
    from antiphon.access.sessions import FailedAttempts, Sessions
    from antiphon.gateway.containers import Containers
    from antiphon.gateway.files import Files
    from antiphon.gateway.prompts import Prompts
    from antiphon.gateway.vector_stores import VectorStores
    from antiphon.stored.console.containers import ContainerReader
    from antiphon.stored.console.reader import ConsoleReader
    from antiphon.stored.console.reports import Reports


CODE_FIELDS = frozenset(CodeStatus.__struct_fields__) - {"containers"}
"""Returns the state of the sandbox."""

TOOLS = 16 * 1024 * 1024
"""Bytes of the tools that are kept for later requests, of all tenants: about 100 lists as long as Codex's."""

RUNNING = "Containers that have not expired."


@dataclass(frozen=True, slots=True)
class Stored:
    """The bytes that a tenant has stored, and its limit, 0 for none."""

    size: int
    most: int


class Gateway:
    """The API as methods. Each raises `ClientError` for the API's 4xx errors, and other errors for 5xx."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.new_id, self.now = parts.run.new_id, parts.run.now
        self.conversations = Conversations(parts.objects)
        self.completions = ChatCompletions(parts.objects, parts.completions)
        self.accepts = parts.models.accepts
        """Whether any backend accepts the parameter with this name, which is not in the API."""
        self.offload = parts.run.offload.run
        """Runs a function on large data in a thread, in the tenant's turn."""
        self.tools: Recent[bytes, ToolList] = Recent(TOOLS, lambda tools: tools.weight)
        """The newest tools of each tenant, by their JSON."""
        self.inputs = RecentInputs()
        """The newest histories that each tenant sends again with each turn."""
        self.known_keys = parts.keys
        """The API keys, which also decide whether a request needs one: once the first was created."""
        self.idempotency = parts.idempotency
        """The `Idempotency-Key`s of requests."""
        self._store_probe = StoreProbe(lambda: parts.store)

    @cached_property
    def console(self) -> "ConsoleReader":
        """The console's view of responses; loaded when the console is used."""
        from antiphon.stored.console.reader import ConsoleReader  # noqa: PLC0415 - for the console alone

        return ConsoleReader(self._parts.objects)

    @cached_property
    def reports(self) -> "Reports":
        """The reports of `antiphon verify`; loaded when the console shows one."""
        from antiphon.stored.console.reports import Reports  # noqa: PLC0415 - for the console alone

        return Reports(self._parts.store, self._parts.run.offload)

    @cached_property
    def files(self) -> "Files":
        """`/v1/files` and `/v1/uploads`; loaded by the first request for them."""
        from antiphon.gateway.files import Files  # noqa: PLC0415 - for requests with files alone

        return Files(self._parts.objects)

    @cached_property
    def vector_stores(self) -> "VectorStores":
        """The operations on vector stores; loaded on first use."""
        from antiphon.gateway.vector_stores import VectorStores  # noqa: PLC0415 - for vector stores alone

        return VectorStores(self._parts.objects)

    @cached_property
    def containers(self) -> "Containers":
        """`/v1/containers`; loaded by the first request for them."""
        from antiphon.gateway.containers import Containers  # noqa: PLC0415 - for containers alone

        return Containers(self._parts.objects)

    @cached_property
    def container_reader(self) -> "ContainerReader":
        """The console's view of containers; loaded when it is used."""
        from antiphon.stored.console.containers import ContainerReader  # noqa: PLC0415 - for the console alone

        return ContainerReader(self._parts.store)

    @cached_property
    def prompts(self) -> "Prompts":
        """The operations on prompts; loaded by the first request that names one."""
        from antiphon.gateway.prompts import Prompts  # noqa: PLC0415 - for prompts alone

        return Prompts(self._parts.objects)

    # The state of this process.

    @property
    def accepts_work(self) -> bool:
        """False once this process is shutting down."""
        return self._parts.process.accepts_work

    @property
    def requests(self) -> RequestCounter:
        """Counts and times requests by route, method and status."""
        return self._parts.measures.requests

    @property
    def websockets(self) -> Gauge:
        """The number of open WebSockets."""
        return self._parts.measures.websockets

    @property
    def memory(self) -> Memory:
        """The memory of this process for clients."""
        return self._parts.run.history.memory

    @property
    def shared(self) -> SharedResources:
        """The resources that tenants share in this process."""
        return self._parts.shared

    def expect(self, what: str) -> Subscription:
        """Wait for a change of a response; all waits end when this process shuts down."""
        return self._parts.process.wakes.expect(what)

    def status(self) -> Status:
        """Return the state of this process's backends and shared resources."""
        parts, upkeep = self._parts, self._parts.upkeep
        return status_of(
            parts.models,
            len(parts.process.runs),
            parts.shared.usage(),
            upkeep.clock_skew,
            upkeep.purge_held,
            disk_full=upkeep.is_disk_full,
            code=self._code(),
        )

    def _code(self) -> CodeStatus | None:
        """Return the state of this process's sandbox; None if none is configured."""
        if self._parts.code_state is None:
            return None
        state = self._parts.code_state()
        return CodeStatus(**{name: getattr(state, name) for name in CODE_FIELDS})

    async def status_of_all(self, others: Sequence[Status]) -> Status:
        """Return the state of this process and of others as one, with the store that they share."""
        parts = self._parts
        storage = await storage_status(parts.store, parts.run.history.bounds)
        status = together([self.status(), *others])
        code = status.code and replace(status.code, containers=await running_containers(parts.store))
        return replace(status, storage=storage, code=code)

    def measured(self, worker: str) -> list[Family]:
        """Return the metrics of this process, labelled with its name."""
        parts = self._parts
        read = known(parts.models, lambda: len(parts.process.runs), parts.shared.usage)
        known_here = [*read, *code_metrics(self._code), *_upkeep(parts)]
        return families([*parts.measures.all(), *known_here, *process_metrics()], worker=worker)

    async def backlog(self) -> list[Family]:
        """Return the metrics that all processes have in common, since they are in the store."""
        store = self._parts.store
        waiting, containers = (
            await store.read(stored_jobs.backlog, queue.LEAD),
            await store.read(container_counts.running),
        )
        jobs, deliveries = "Background responses in the queue.", "Webhooks in the outbox."
        deferred = "Background responses in the queue that can wait for idle slots."
        overdue = "Background responses that still wait after their window."
        return families(
            [
                Known("antiphon_background_waiting", jobs, look=lambda: {(): waiting.jobs}),
                Known("antiphon_background_deferred", deferred, look=lambda: {(): waiting.deferred}),
                Known("antiphon_background_overdue", overdue, look=lambda: {(): waiting.overdue}),
                Known("antiphon_webhooks_waiting", deliveries, look=lambda: {(): waiting.deliveries}),
                Known("antiphon_containers_running", RUNNING, look=lambda: {(): float(containers)}),
            ]
        )

    async def store_answers(self) -> bool:
        """Whether the store can be read and written."""
        return await self._store_probe.is_usable()

    async def keys_are_usable(self) -> bool:
        """Whether requests can be authenticated: they need no API key, or the store has keys."""
        return await self._parts.keys.are_usable()

    async def backend_answers(self) -> bool:
        """Whether at least one backend answered HTTP, with any status; polls them if none did."""
        models = self._parts.models
        if not any(served.is_reached for served in models.backends):
            await models.refresh()
        return any(served.is_reached for served in models.backends)

    # Responses.

    async def decode_large(self, tenant: str, body: bytes) -> tuple[CreateResponse, bool]:
        """Return the large body of `POST /responses`, and whether it is large without its tools, if these are known.

        Then it is decoded in a thread, and what the next turn sends again is kept. Raises `ClientError` (400).
        """
        small = decode_beside_tools(body, self.accepts, self.tools, tenant)
        if small is not None:
            return small, False
        known = self.accepts, self.tools, self.inputs, tenant
        request, sent = await self.offload(tenant, decode_large, body, *known)
        keep(request, self.tools, tenant)
        if sent is not None:
            self.inputs.put(tenant, sent)
        return request, True

    async def create(
        self,
        request: CreateResponse,
        ticket: RequestIdentity | None = None,
        *,
        recalled: Sequence[StoredItem] | None = None,
        generates: bool = True,
    ) -> Run:
        """Begin a response. Raises `ClientError` if the request can be rejected before the model is called.

        `recalled` is the state that the previous response left for this one, if known without the store. A request
        that does not generate calls no model and completes empty (specification section 8, warm-up).
        """
        parts = self._parts
        if ticket is None or not ticket.response_id:
            ticket = identified(ticket, parts.run.new_id)
        run = Run(await prepare(parts.run, request, ticket, recalled, generates=generates), parts.run)
        if parts.run.facts is not None:
            run.origin = origin_of(request, ticket)
        if not generates:
            run.warm_up()
        return run

    def enqueue(self, request: CreateResponse, body: bytes, ticket: RequestIdentity | None = None) -> Awaitable[Queued]:
        """Queue a background response; `body` is the request's JSON, for the worker that runs it."""
        return queue.enqueue(self._parts.jobs, request, body, ticket)

    def retrieve(self, tenant: str, response_id: str, include: Collection[str]) -> Made:
        """Return a stored response."""
        return responses.retrieve(self._parts.store, tenant, response_id, include, self._parts.objects)

    def list_responses(self, tenant: str, query: ResponsesQuery) -> Made:
        """Return a page of a tenant's responses."""
        filters = response_list.filters_of(query.q, self.now())
        return response_list.list_responses(self._parts.store, tenant, query, filters)

    def cancel(self, tenant: str, response_id: str) -> Made:
        """Cancel a background response; return its current state."""
        return queue.cancel(self._parts.jobs, tenant, response_id)

    def delete(self, tenant: str, response_id: str) -> Made:
        """Delete a stored response."""
        return responses.delete(self._parts.store, tenant, response_id)

    def input_items(self, tenant: str, response_id: str, query: InputItemsQuery) -> Made:
        """Return a page of the input items of a response."""
        return responses.list_input_items(self._parts.store, tenant, response_id, query, self._parts.objects)

    def check_replay(self, tenant: str, response_id: str) -> Awaitable[None]:
        """Raise `ClientError` unless the events of this response can be replayed."""
        return replay.begin_replay(self._parts.jobs, tenant, response_id)

    def replay(
        self, tenant: str, response_id: str, after: int = -1, *, padding: bool = True
    ) -> AsyncGenerator[bytes, None]:
        """Yield the server-sent events of a background response after a number, to the end. Raises `CutOff`."""
        return replay.replay(self._parts.jobs, tenant, response_id, after, padding=padding)

    def compact(
        self,
        request: CompactRequest,
        tenant: str = "",
        watch: Callable[[Run], None] = lambda run: None,
        *,
        is_large: bool = False,
    ) -> Made:
        """Compact a context; `watch` receives the run that does it."""
        return compact(self._parts.run, request, tenant, watch, is_large=is_large)

    def count_tokens(self, request: CreateResponse, tenant: str = "", *, is_large: bool = False) -> Awaitable[Count]:
        """Return how many tokens the input of such a request has."""
        return count_input_tokens(self._parts.run, request, tenant, is_large=is_large)

    # Chat Completions, embeddings, models.

    async def passing(
        self, path: str, request: JsonObject, tenant: str, grant: UsageLease | None, *, is_large: bool = False
    ) -> Passing:
        """Select a backend for a request that is passed on; a large one is encoded in a thread."""
        if not self._parts.process.accepts_work:
            raise going_away()
        route = await self._parts.run.router.route(request["model"], tenant=tenant)
        passing = Passing(self._parts.run.observers, route, path, request, grant, tenant)
        if is_large:
            await self._parts.run.offload.run(tenant, passing.encode)
        return passing

    async def passing_images(
        self, path: str, request: JsonObject, tenant: str, grant: UsageLease | None, form: MakeForm | None
    ) -> Passing:
        """Select a backend for a request for images, as JSON or as a `form`: the image server for its model."""
        from antiphon.forwarding.image_answers import PassingImages  # noqa: PLC0415 - for requests for images alone

        parts = self._parts
        if not parts.process.accepts_work:
            raise going_away()
        router = parts.images.router.get() if request["model"] == parts.run.rules.images_model else parts.run.router
        route = await router.route(request["model"], tenant=tenant)
        passing = PassingImages(parts.run.observers, route, path, request, grant, tenant, form)
        passing.read = parts.images.read
        passing.account, passing.most = Account(parts.run.history.memory, tenant), parts.run.history.memory.most(tenant)
        return passing

    @property
    def images_model(self) -> str:
        """The model that generates images if a request names none; empty for none."""
        return self._parts.run.rules.images_model

    async def models(self, find_key: Callable[[], Awaitable[ApiKey | None]]) -> list[JsonObject]:
        """Return the models that a key allows, from the current list; all of them without a key."""
        await self._parts.models.refresh()
        key, listed = await find_key(), self._parts.models.list()
        return listed if key is None else [model for model in listed if allows(key.limits, model["id"])]

    async def model(self, name: str, find_key: Callable[[], Awaitable[ApiKey | None]]) -> JsonObject:
        """Return a model that a key allows. Raises `ClientError` (404) if there is no such model."""
        model = next((model for model in await self.models(find_key) if model["id"] == name), None)
        if model is None:
            text = f"The model '{name[:100]}' does not exist."
            raise ClientError(text, status=404, code="model_not_found", param="model")
        return model

    def known_models(self) -> list[JsonObject]:
        """Return the models as the backends listed them last: no backend is called."""
        return self._parts.models.list()

    def context_window(self, model: str) -> int | None:
        """Return the maximum tokens of prompt and answer together, None if unknown."""
        return self._parts.models.context_window(model)

    def verdict(self, model: str) -> str:
        """Return a sentence about whether coding agents can use a model; empty if that was not measured."""
        from antiphon.upstream.probing.measurement import least  # noqa: PLC0415 - for coding agents alone

        return least(self._parts.models.profiles(model))

    def sees_images(self, model: str) -> bool | None:
        """Whether a model accepts images or has them described, None if that is unknown."""
        return True if self._parts.run.vision is not None else self._parts.models.sees_images(model)

    # API keys, limits, idempotency keys.

    def digest_key(self, key: bytes) -> Awaitable[bytes]:
        """Return the digest by which an API key is found."""
        return self._parts.keys.digest(key)

    def find_key(self, digest: bytes) -> Awaitable[ApiKey | None]:
        """Return the valid API key with this digest, else None."""
        return self._parts.keys.find(digest)

    def lease(
        self,
        key: ApiKey,
        model: str | None,
        weigh: Callable[[], Weight],
        attend: Attend = nullcontext,
        *,
        is_queued: bool = False,
    ) -> Awaitable[UsageLease]:
        """Reserve the tokens that a request with this key can use. See `Meter.admit`."""
        return self._parts.jobs.meter.admit(key, model, weigh, attend, is_queued=is_queued)

    async def usage(
        self, tenant: str | None, begin: int, end: int, by: Collection[UsageField] = ("key", "day")
    ) -> UsageFound:
        """Return the total usage of a tenant's keys; without a `tenant`, of all tenants."""
        await self._parts.jobs.meter.settle()
        return await find_usage(self._parts.store, tenant, begin, end, by)

    @cached_property
    def sessions(self) -> "Sessions":
        """The sessions of the console."""
        from antiphon.access.sessions import Sessions  # noqa: PLC0415 - for the console alone

        return Sessions(self._parts.store, self.now)

    def key_admin(self) -> "KeyAdmin":
        """Return the operations on API keys."""
        from antiphon.access.key_admin import KeyAdmin  # noqa: PLC0415 - for the console alone

        return KeyAdmin(self._parts.store, self.known_keys, self.new_id, self.now)

    def profiles(self) -> list[JsonObject]:
        """Return the known facts about each model at each backend."""
        return profiles_of(self._parts.models)

    async def deliveries(
        self, tenant: str | None, limit: int, after: str, *, is_failed: bool | None
    ) -> list[JsonObject]:
        """Return deliveries of webhooks, newest first; without a `tenant`, of all tenants."""
        found = await self._parts.store.read(webhooks.page, tenant, limit, after, is_failed=is_failed)
        return [shown_delivery(one) for one in found]

    def retry_delivery(self, delivery_id: str) -> Awaitable[bool]:
        """Attempt a delivery now; return False if it is unknown."""
        return self._parts.store.write(webhooks.retry, delivery_id)

    def failed_attempts(self) -> "FailedAttempts":
        """Return the rate limiter for failed sign-ins to the console, by address."""
        from antiphon.access.sessions import FailedAttempts  # noqa: PLC0415 - for the console alone

        return FailedAttempts(monotonic)

    @property
    def retention(self) -> int:
        """Seconds for which a response is stored."""
        return self._parts.run.rules.retention

    @property
    def currency(self) -> str:
        """The currency of prices and budgets, a label."""
        return self._parts.jobs.meter.currency

    @property
    def has_prices(self) -> bool:
        """Whether any model has prices in the settings."""
        backends = self._parts.models.backends
        return any(one.prices is not None for served in backends for one in served.options.configured)

    async def stored(self, tenant: str) -> Stored:
        """Return the bytes that a tenant has stored, and its limit."""
        return Stored(
            await self._parts.store.read(sizes.stored_bytes, tenant), self._parts.run.history.bounds.stored_bytes
        )


def _upkeep(parts: Parts) -> list[Known]:
    ahead = "Seconds by which a process's clock is ahead of the store's."
    held = "Stored responses that have expired, if they are too many for one purge."
    full = "Whether the disk of the store has no room: 1 or 0."
    return [
        Known("antiphon_disk_full", full, look=lambda: {(): float(parts.upkeep.is_disk_full)}),
        Known("antiphon_clock_skew_seconds", ahead, look=lambda: {(): parts.upkeep.clock_skew}),
        Known("antiphon_purge_held", held, look=lambda: {(): float(parts.upkeep.purge_held)}),
    ]


def charged_to(ticket: RequestIdentity, grant: UsageLease | None) -> RequestIdentity:
    """Return the ticket of a background response, which settles its reservation."""
    return ticket if grant is None else replace(ticket, taken=grant.taken)
