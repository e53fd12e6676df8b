"""What the server and the library call: responses, requests that are passed on, and the objects of
the API.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from operator import methodcaller
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from antiphon.access.limits import check_model, is_weighed
from antiphon.access.metering import Attend, UsageLease
from antiphon.access.spending import Weight
from antiphon.forwarding.passthrough import MakeForm, Passing
from antiphon.gateway.parts import Parts
from antiphon.history.recent_inputs import RecentInputs
from antiphon.jobs.known_agents import agent_elsewhere
from antiphon.jobs.lessons import synchronise
from antiphon.jobs.queue import LEAD, BackgroundQueue
from antiphon.jobs.replay import Replays
from antiphon.objects.chat_completions import ChatCompletions
from antiphon.objects.conversations import Conversations
from antiphon.objects.items import ItemViews
from antiphon.objects.large import Capacity
from antiphon.objects.models import Models
from antiphon.objects.pages import JsonObject
from antiphon.objects.responses import Responses
from antiphon.objects.usage import KeyUsage
from antiphon.process import going_away
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.validation.known_tools import (
    HAS_TOOLS,
    decode_except_tools,
    decode_with_tools,
    remember,
)
from antiphon.protocol.validation.large_requests import decode_large
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.completion_recorder import CompletionParts
from antiphon.recording.facts import origin_of
from antiphon.recording.idempotency import IdempotencyKeys
from antiphon.recording.persistence import RequestIdentity, identified
from antiphon.runs.compact import compact
from antiphon.runs.input_tokens import count_input_tokens
from antiphon.runs.prepare import prepare
from antiphon.runs.prompt_memory import PromptMemory
from antiphon.runs.run import Run
from antiphon.sharing.memory import Account
from antiphon.sharing.recent import Recent
from antiphon.sizes import LARGE
from antiphon.status.process_status import ProcessStatus
from antiphon.status.readiness import Readiness
from antiphon.storage.records.responses import StoredItem
from antiphon.storage.records.tenants import ApiKey
from antiphon.telemetry.scrape import Scrape
from antiphon.upstream.router import Route

if TYPE_CHECKING:
    from antiphon.access.sessions import ConsoleSessions, FailedAttempts
    from antiphon.console.backend_checks import BackendChecks
    from antiphon.console.containers import ContainerReader
    from antiphon.console.conversations import ConversationViews
    from antiphon.console.deferred import DeferredResponses
    from antiphon.console.files import FileLists
    from antiphon.console.finder import Finder
    from antiphon.console.lessons import KnownLessons
    from antiphon.console.reader import ConsoleReader
    from antiphon.console.reports import Reports
    from antiphon.console.saved_views import SavedViews
    from antiphon.console.steps import StepViews
    from antiphon.gateway.agents import AgentFront
    from antiphon.gateway.chat import ChatFront
    from antiphon.objects.container_files import ContainerFiles
    from antiphon.objects.containers import Containers
    from antiphon.objects.files import Files
    from antiphon.objects.keys import Keys
    from antiphon.objects.prompts import Prompts
    from antiphon.objects.uploads import Uploads
    from antiphon.objects.vector_store_files import VectorStoreFiles
    from antiphon.objects.vector_stores import VectorStores
    from antiphon.objects.webhooks import WebhookDeliveries


CHAT = "/chat/completions"

_TYPE_OF = methodcaller("get", "type")

TOOLS = 16 * 1024 * 1024
"""Bytes of the tools that are kept for later requests, of all tenants: about 100 lists as long as
Codex's.
"""


class Gateway:
    """Creates responses, passes requests on to backends, and has the objects of the API.

    Methods raise `ClientError` for the API's 4xx errors, and other errors for 5xx. Objects that few
    requests need are loaded on first use.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.new_id = parts.run.new_id
        self.now = parts.run.now
        self.process = parts.process
        """The state of this process: whether it still accepts work, what wakes its readers."""
        self.accepts = parts.models.accepts
        """Whether any backend accepts the parameter with this name, which is not in the API."""
        self.offload = parts.run.offload.run
        """Runs a function, on large data in a thread: see `Offload.run`."""
        self.in_thread = parts.run.offload.in_thread
        """Runs a function in a thread: see `Offload.in_thread`."""
        self.tools: Recent[bytes, ToolList] = Recent(TOOLS, lambda tools: tools.weight)
        """The newest tools of each tenant, by their JSON."""
        self.inputs = RecentInputs()
        """The newest histories that each tenant sends again with each turn."""
        self.messages_models = parts.messages_models
        """The models that answer to names of the Messages API's clients, by patterns of these."""
        self.known_keys = parts.keys
        """The API keys, which also decide whether a request needs one: once the first was
        created.
        """
        self.compact = partial(compact, parts.run)
        """Compacts a context."""
        self.count_tokens = partial(count_input_tokens, parts.run)
        """Counts the tokens of a request's input."""
        self._begin_objects(parts)
        self._begin_monitoring(parts)

    def _begin_objects(self, parts: Parts) -> None:
        store = parts.store
        run = parts.run
        meter = parts.jobs.meter
        bounds = parts.run.history.bounds
        self._capacity = Capacity(run.offload, run.history.memory)
        self._views = ItemViews(store, self._capacity, run.keyring, parts.objects.files.get)
        self.responses = Responses(store, self._views, run.now)
        self.queue = BackgroundQueue(parts.jobs, self.responses)
        self.replays = Replays(store, self._views, parts.process)
        self.conversations = Conversations(
            store, self._views, run.offload, bounds, run.quota, run.new_id, run.now
        )
        recording = CompletionParts(
            store, run.new_id, run.now, run.history.memory, run.offload, run.rules.retention
        )
        self.chat_completions = ChatCompletions(recording, self._capacity, run.quota)
        self.models = Models(parts.models, lambda: run.vision is not None, parts.jobs.agents)
        self.known_agents = parts.jobs.agents
        """The agents that workers serve."""
        self.usage = KeyUsage(store, meter.settle, meter.currency, bounds.stored_bytes)
        self.idempotency = IdempotencyKeys(store, parts.process, run.offload)

    def _begin_monitoring(self, parts: Parts) -> None:
        store = parts.store
        models = parts.models
        runs = parts.process.runs
        bounds = parts.run.history.bounds
        self.memory = parts.run.history.memory
        self.shared = parts.shared
        self.measures = parts.measures
        self.retention = parts.run.rules.retention
        self.readiness = Readiness(store, parts.keys, models)
        self.status = ProcessStatus(
            models,
            runs,
            parts.shared,
            parts.upkeep,
            lambda: parts.code_state and parts.code_state(),
            store,
            bounds,
        )
        self.metrics = Scrape(
            parts.measures, models, runs, parts.shared, parts.upkeep, self.status.code, store, LEAD
        )

    @property
    def images_model(self) -> str:
        """The model that generates images if a request names none; empty for none."""
        return self._parts.run.rules.images_model

    @property
    def prompt_memory(self) -> PromptMemory | None:
        """The newest prompts of sessions; None if prompts are not compared."""
        return self._parts.run.prompts

    async def decode(self, tenant: str, body: bytes) -> tuple[CreateResponse, int]:
        """Return the body of `POST /responses`, and the bytes of it that are to be processed:
        without its tools, if these are known.

        A large one is decoded in a thread, and what the next turn sends again is kept. Raises
        `ClientError` (400).
        """
        size = len(body)
        if size <= LARGE and HAS_TOOLS not in body:
            return decode_request(body, self.accepts), size
        if size <= LARGE:
            return decode_with_tools(body, self.accepts, self.tools, tenant), size
        small = decode_except_tools(body, self.accepts, self.tools, tenant)
        if small is not None:
            return small, LARGE
        known = self.accepts, self.tools, self.inputs, tenant
        request, sent = await self.in_thread(tenant, decode_large, body, *known)
        remember(request, self.tools, tenant)
        if sent is not None:
            self.inputs.put(tenant, sent)
        return request, size

    async def lease(
        self,
        key: ApiKey,
        model: str | None,
        weigh: Callable[[], Weight],
        size: int,
        attend: Attend = nullcontext,
        *,
        is_queued: bool = False,
    ) -> UsageLease:
        """Reserve the tokens that a request with a key can use: see `Meter.admit`. `weigh`
        estimates those of a request of `size` bytes. An agent calls models itself: each is admitted
        when it is called.
        """
        if model is not None and model in self.known_agents.names:
            check_model(key, model)
            return await self._parts.jobs.meter.admit(key, None, Weight())
        weight = await self.offload(key.tenant, size, weigh) if is_weighed(key) else Weight()
        meter = self._parts.jobs.meter
        return await meter.admit(key, model, weight, attend, is_queued=is_queued)

    async def create(
        self,
        request: CreateResponse,
        identity: RequestIdentity | None = None,
        *,
        recalled: Sequence[StoredItem] | None = None,
        generates: bool = True,
    ) -> Run:
        """Begin a response. Raises `ClientError` if the request can be rejected before the model is
        called.

        `recalled` is the state that the previous response left for this one, if known without the
        store. A request that does not generate calls no model and completes empty (specification
        section 8, warm-up).
        """
        parts = self._parts
        if request.model in self.known_agents.names:
            raise agent_elsewhere(request.model)
        if identity is None or not identity.response_id:
            identity = identified(identity, parts.run.new_id)
        run = Run(
            await prepare(parts.run, request, identity, recalled, generates=generates), parts.run
        )
        if parts.run.facts is not None:
            run.origin = origin_of(request, identity)
        if not generates:
            run.warm_up()
        return run

    async def passing(
        self,
        path: str,
        request: JsonObject,
        tenant: str,
        grant: UsageLease | None,
        size: int,
    ) -> Passing | None:
        """Select a backend for a request of `size` bytes that is passed on; None if it is for a
        chat completion that is answered as a response.
        """
        if not self.process.accepts_work:
            raise going_away()
        run = self._parts.run
        model = request["model"]
        if model in self.known_agents.names:
            raise agent_elsewhere(model)
        candidates = run.models.known.get(model) or await run.models.candidates(model)
        tools = request.get("tools") or ()
        may_run = path == CHAT and (
            candidates.may_run_chat
            or "web_search_options" in request
            or [*map(_TYPE_OF, tools)].count("function") != len(tools)
        )
        if may_run:
            passing = self.chat.passing(candidates, request, grant, tenant)
            if passing is None:
                return None
        else:
            route = Route(run.router, candidates, (), tenant, is_patient=False, is_late=False)
            passing = Passing(run.observers, route, path, request, grant, tenant)
        await self.offload(tenant, size, passing.encode, size)
        return passing

    async def passing_images(
        self,
        path: str,
        request: JsonObject,
        tenant: str,
        grant: UsageLease | None,
        size: int,
        form: MakeForm | None,
    ) -> Passing:
        """Select a backend for a request for images of `size` bytes, as JSON or as a `form`: the
        image server for its model.
        """
        from antiphon.forwarding.image_answers import PassingImages  # noqa: PLC0415 - for requests for images alone

        parts = self._parts
        if not self.process.accepts_work:
            raise going_away()
        router = (
            parts.images.router.get()
            if request["model"] == parts.run.rules.images_model
            else parts.run.router
        )
        route = await router.route(request["model"], tenant=tenant)
        passing = PassingImages(parts.run.observers, route, path, request, grant, tenant, form)
        passing.read = parts.images.read
        passing.offload = parts.run.offload
        passing.account, passing.most = (
            Account(parts.run.history.memory, tenant),
            parts.run.history.memory.most(tenant),
        )
        if form is None:
            await self.offload(tenant, size, passing.encode, size)
        return passing

    # What few requests need: loaded on first use.

    @cached_property
    def chat(self) -> "ChatFront":
        """Chat completions that are answered as responses; loaded by the first that may be."""
        from antiphon.gateway.chat import ChatFront  # noqa: PLC0415 - most are forwarded

        return ChatFront(self._parts.run)

    @cached_property
    def agents(self) -> "AgentFront":
        """Requests for agents; loaded by the first."""
        from antiphon.gateway.agents import AgentFront  # noqa: PLC0415 - for agents alone

        return AgentFront(self._parts.jobs, self.responses, self.queue, self.replays)

    @cached_property
    def prompts(self) -> "Prompts":
        """The prompts; loaded by the first request that names one."""
        from antiphon.objects.prompts import Prompts  # noqa: PLC0415 - for prompts alone

        run = self._parts.run
        named = self._parts.objects.named_prompts
        return Prompts(run.store, run.offload, named, run.quota, self.new_id, self.now)

    @cached_property
    def files(self) -> "Files":
        """The files of `/v1/files`; loaded by the first request that needs them."""
        return self._parts.objects.files.get()

    @cached_property
    def uploads(self) -> "Uploads":
        """The uploads of files in parts; loaded by the first request for one."""
        from antiphon.objects.uploads import Uploads  # noqa: PLC0415 - for uploads alone

        return Uploads(self._parts.store, self.files, self.new_id, self.now)

    @cached_property
    def containers(self) -> "Containers":
        """The containers of code; loaded by the first request for one."""
        from antiphon.objects.containers import Containers, limits_of  # noqa: PLC0415 - for containers alone

        limits = limits_of(self._parts.run.history.bounds)
        return Containers(self._parts.store, self.files, limits, self.new_id, self.now)

    @cached_property
    def container_files(self) -> "ContainerFiles":
        """The files in containers; loaded by the first request for containers."""
        from antiphon.objects.container_files import ContainerFiles  # noqa: PLC0415 - for containers alone

        return ContainerFiles(self._parts.store, self.containers, self.files)

    @cached_property
    def container_reader(self) -> "ContainerReader":
        """The console's view of containers; loaded when it is used."""
        from antiphon.console.containers import ContainerReader  # noqa: PLC0415 - for the console alone

        return ContainerReader(self._parts.store)

    @cached_property
    def vector_stores(self) -> "VectorStores":
        """The vector stores; loaded by the first request for one."""
        from antiphon.objects.vector_stores import VectorStores  # noqa: PLC0415 - for vector stores alone

        parts = self._parts
        objects = self._parts.objects
        indexing = parts.run.rules.embedding_model, objects.chunk_tokens
        return VectorStores(
            parts.store, objects.search, self._capacity, *indexing, self.new_id, self.now
        )

    @cached_property
    def vector_store_files(self) -> "VectorStoreFiles":
        """The files in vector stores; loaded by the first request for vector stores."""
        from antiphon.objects.vector_store_files import VectorStoreFiles  # noqa: PLC0415 - for vector stores alone

        store = self._parts.store
        objects = self._parts.objects
        return VectorStoreFiles(
            store, self.vector_stores, objects.files, objects.texts, self._capacity, self.new_id
        )

    @cached_property
    def file_lists(self) -> "FileLists":
        """The console's lists of files and vector stores; loaded when they are used."""
        from antiphon.console.files import FileLists  # noqa: PLC0415 - for the console alone

        return FileLists(
            lambda: self.files, self.vector_stores, self.vector_store_files, self._capacity
        )

    @cached_property
    def console(self) -> "ConsoleReader":
        """The console's view of responses; loaded when the console is used."""
        from antiphon.console.reader import ConsoleReader  # noqa: PLC0415 - for the console alone
        from antiphon.console.rebuilt import rebuild_calls  # noqa: PLC0415 - the same

        parts = self._parts
        rebuild = partial(rebuild_calls, parts.run)
        return ConsoleReader(
            parts.store,
            self._views,
            rebuild,
            parts.process.runs,
            parts.run.rules.retention,
            self.now,
            self.usage.currency,
        )

    @cached_property
    def conversation_views(self) -> "ConversationViews":
        """The console's view of conversations; loaded when it is used."""
        from antiphon.console.conversations import ConversationViews  # noqa: PLC0415 - for the console alone

        return ConversationViews(self._parts.store, self._views)

    @cached_property
    def step_views(self) -> "StepViews":
        """The console's view of the steps of agents; loaded when it is used."""
        from antiphon.console.steps import StepViews  # noqa: PLC0415 - for the console alone

        return StepViews(self._parts.store, self._views)

    @cached_property
    def saved_views(self) -> "SavedViews":
        """The saved views of the console."""
        from antiphon.console.saved_views import SavedViews  # noqa: PLC0415 - for the console alone

        return SavedViews(self._parts.store, self.new_id)

    @cached_property
    def finder(self) -> "Finder":
        """The console's search for objects; loaded when it is used."""
        from antiphon.console.finder import Finder  # noqa: PLC0415 - for the console alone

        return Finder(self._parts.store, self.console)

    @cached_property
    def lessons(self) -> "KnownLessons":
        """The lessons about models, as the console lists them."""
        from antiphon.console.lessons import KnownLessons  # noqa: PLC0415 - for the console alone

        store, models = self._parts.store, self._parts.models
        return KnownLessons(store, models, lambda: synchronise(store, models.backends, self.now()))

    @cached_property
    def deferred(self) -> "DeferredResponses":
        """The background responses that wait for their time, as the console lists them."""
        from antiphon.console.deferred import DeferredResponses  # noqa: PLC0415 - for the console alone

        return DeferredResponses(self._parts.store, self.now, LEAD)

    @cached_property
    def backend_checks(self) -> "BackendChecks":
        """Checks of backends that administrators request."""
        from antiphon.console.backend_checks import BackendChecks  # noqa: PLC0415 - for the console alone

        return BackendChecks(self._parts.models)

    @cached_property
    def reports(self) -> "Reports":
        """The reports of `antiphon verify`; loaded when the console shows one."""
        from antiphon.console.reports import Reports  # noqa: PLC0415 - for the console alone

        return Reports(self._parts.store, self._parts.run.offload)

    @cached_property
    def keys(self) -> "Keys":
        """The API keys, as the console manages them."""
        from antiphon.objects.keys import Keys  # noqa: PLC0415 - for the console alone

        return Keys(self._parts.store, self.known_keys, self.new_id, self.now)

    @cached_property
    def deliveries(self) -> "WebhookDeliveries":
        """The deliveries of webhooks, as the console manages them."""
        from antiphon.objects.webhooks import WebhookDeliveries  # noqa: PLC0415 - for the console alone

        return WebhookDeliveries(self._parts.store)

    @cached_property
    def sessions(self) -> "ConsoleSessions":
        """The sessions of the console."""
        from antiphon.access.sessions import ConsoleSessions  # noqa: PLC0415 - for the console alone

        return ConsoleSessions(self._parts.store, self.now)

    @cached_property
    def failed_attempts(self) -> "FailedAttempts":
        """The rate limiter for failed sign-ins to the console, by address."""
        from antiphon.access.sessions import FailedAttempts  # noqa: PLC0415 - for the console alone

        return FailedAttempts(monotonic)


def charged_to(identity: RequestIdentity, grant: UsageLease | None) -> RequestIdentity:
    """Return the ticket of a background response, which settles its reservation."""
    return identity if grant is None else replace(identity, taken=grant.taken)
