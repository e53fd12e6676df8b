"""What the server and the library call: responses, requests that are passed on, and the objects of the API."""

from collections.abc import Sequence
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from antiphon.access.metering import UsageLease
from antiphon.forwarding.passthrough import MakeForm, Passing
from antiphon.history.recent_inputs import RecentInputs
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
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.validation.known_tools import decode_beside_tools, keep
from antiphon.protocol.validation.large_requests import decode_large
from antiphon.recording.completion_recorder import CompletionParts
from antiphon.recording.facts import origin_of
from antiphon.recording.idempotency import IdempotencyKeys
from antiphon.recording.persistence import RequestIdentity
from antiphon.runs.compact import compact
from antiphon.runs.engine import Engine, going_away
from antiphon.runs.input_tokens import count_input_tokens
from antiphon.runs.prepare import prepare
from antiphon.runs.run import Run
from antiphon.sharing.memory import Account
from antiphon.sharing.recent import Recent
from antiphon.status.process_status import ProcessStatus
from antiphon.status.readiness import Readiness
from antiphon.storage.records.responses import StoredItem
from antiphon.telemetry.scrape import Scrape

if TYPE_CHECKING:
    from antiphon.access.sessions import FailedAttempts, Sessions
    from antiphon.console.containers import ContainerReader
    from antiphon.console.files import FileLists
    from antiphon.console.reader import ConsoleReader
    from antiphon.console.reports import Reports
    from antiphon.objects.container_files import ContainerFiles
    from antiphon.objects.containers import Containers
    from antiphon.objects.files import Files
    from antiphon.objects.keys import Keys
    from antiphon.objects.prompts import Prompts
    from antiphon.objects.uploads import Uploads
    from antiphon.objects.vector_store_files import VectorStoreFiles
    from antiphon.objects.vector_stores import VectorStores
    from antiphon.objects.webhooks import WebhookDeliveries


TOOLS = 16 * 1024 * 1024
"""Bytes of the tools that are kept for later requests, of all tenants: about 100 lists as long as Codex's."""


class Gateway:
    """Creates responses, passes requests on to backends, and has the objects of the API.

    Methods raise `ClientError` for the API's 4xx errors, and other errors for 5xx. Objects that few requests need are
    loaded on first use.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.new_id, self.now = engine.new_id, engine.now
        self.accepts = engine.models.accepts
        """Whether any backend accepts the parameter with this name, which is not in the API."""
        self.offload = engine.offload.run
        """Runs a function on large data in a thread, in the tenant's turn."""
        self.tools: Recent[bytes, ToolList] = Recent(TOOLS, lambda tools: tools.weight)
        """The newest tools of each tenant, by their JSON."""
        self.inputs = RecentInputs()
        """The newest histories that each tenant sends again with each turn."""
        self.known_keys = engine.api_keys
        """The API keys, which also decide whether a request needs one: once the first was created."""
        self.lease = engine.meter.admit
        """Reserves the tokens that a request with a key can use."""
        self.compact = partial(compact, engine)
        """Compacts a context."""
        self.count_tokens = partial(count_input_tokens, engine)
        """Counts the tokens of a request's input."""
        self._begin_objects(engine)
        self._begin_monitoring(engine)

    def _begin_objects(self, engine: Engine) -> None:
        store, memory, offload, new_id, now = engine.store, engine.memory, engine.offload, engine.new_id, engine.now
        self._capacity = Capacity(offload, memory)
        self._views = ItemViews(store, self._capacity, engine.keyring, lambda: engine.files)
        self.responses = Responses(store, self._views, now)
        self.queue = BackgroundQueue(engine, self.responses)
        self.replays = Replays(store, self._views, engine.wakes, lambda: engine.is_over)
        self.conversations = Conversations(store, self._views, offload, engine.bounds, engine.quota, new_id, now)
        parts = CompletionParts(store, new_id, now, memory, offload, engine.retention)
        self.chat_completions = ChatCompletions(parts, self._capacity, engine.quota)
        self.models = Models(engine.models, lambda: engine.vision is not None)
        self.usage = KeyUsage(store, engine.meter.settle, engine.currency, engine.bounds.stored_bytes)
        self.idempotency = IdempotencyKeys(store, new_id, engine.worker, engine.holding, engine.wakes, offload)

    def _begin_monitoring(self, engine: Engine) -> None:
        self.memory, self.shared, self.wakes = engine.memory, engine.shared, engine.wakes
        self.measures, self.retention = engine.measures, engine.retention
        store, models, upkeep = engine.store, engine.models, engine.upkeep
        self.readiness = Readiness(store, engine.api_keys, models)
        self.status = ProcessStatus(
            models,
            engine.runs,
            engine.shared,
            upkeep,
            lambda: engine.code_state and engine.code_state(),
            store,
            engine.bounds,
        )
        self.metrics = Scrape(
            engine.measures, models, engine.runs, engine.shared, upkeep, self.status.code, store, LEAD
        )

    @property
    def accepts_work(self) -> bool:
        """False once this process is shutting down."""
        return self._engine.accepts_work

    @property
    def images_model(self) -> str:
        """The model that generates images if a request names none; empty for none."""
        return self._engine.images_model

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
        engine = self._engine
        if ticket is None or not ticket.response_id:
            ticket = engine.ticket(ticket)
        run = Run(await prepare(engine, request, ticket, recalled, generates=generates), engine)
        if engine.facts is not None:
            run.origin = origin_of(request, ticket)
        if not generates:
            run.warm_up()
        return run

    async def passing(
        self, path: str, request: JsonObject, tenant: str, grant: UsageLease | None, *, is_large: bool = False
    ) -> Passing:
        """Select a backend for a request that is passed on; a large one is encoded in a thread."""
        if not self._engine.accepts_work:
            raise going_away()
        route = await self._engine.router.route(request["model"], tenant=tenant)
        passing = Passing(self._engine.observers, route, path, request, grant, tenant)
        if is_large:
            await self._engine.offload.run(tenant, passing.encode)
        return passing

    async def passing_images(
        self, path: str, request: JsonObject, tenant: str, grant: UsageLease | None, form: MakeForm | None
    ) -> Passing:
        """Select a backend for a request for images, as JSON or as a `form`: the image server for its model."""
        from antiphon.forwarding.image_answers import PassingImages  # noqa: PLC0415 - for requests for images alone

        engine = self._engine
        if not engine.accepts_work:
            raise going_away()
        router = engine.image_router if request["model"] == engine.images_model else engine.router
        route = await router.route(request["model"], tenant=tenant)
        passing = PassingImages(engine.observers, route, path, request, grant, tenant, form)
        passing.read = engine.read_image
        passing.account, passing.most = Account(engine.memory, tenant), engine.memory.most(tenant)
        return passing

    # What few requests need: loaded on first use.

    @cached_property
    def prompts(self) -> "Prompts":
        """The prompts; loaded by the first request that names one."""
        from antiphon.objects.prompts import Prompts  # noqa: PLC0415 - for prompts alone

        engine = self._engine
        return Prompts(engine.store, engine.offload, engine.named_prompts, engine.quota, self.new_id, self.now)

    @cached_property
    def files(self) -> "Files":
        """The files of `/v1/files`; loaded by the first request that needs them."""
        from antiphon.objects.files import storing  # noqa: PLC0415 - for requests with files alone

        return storing(self._engine.files)

    @cached_property
    def uploads(self) -> "Uploads":
        """The uploads of files in parts; loaded by the first request for one."""
        from antiphon.objects.uploads import Uploads  # noqa: PLC0415 - for uploads alone

        return Uploads(self._engine.store, self.files, self.new_id, self.now)

    @cached_property
    def containers(self) -> "Containers":
        """The containers of code; loaded by the first request for one."""
        from antiphon.objects.containers import Containers, limits_of  # noqa: PLC0415 - for containers alone

        limits = limits_of(self._engine.bounds)
        return Containers(self._engine.store, self.files, limits, self.new_id, self.now)

    @cached_property
    def container_files(self) -> "ContainerFiles":
        """The files in containers; loaded by the first request for containers."""
        from antiphon.objects.container_files import ContainerFiles  # noqa: PLC0415 - for containers alone

        return ContainerFiles(self._engine.store, self.containers, self.files)

    @cached_property
    def container_reader(self) -> "ContainerReader":
        """The console's view of containers; loaded when it is used."""
        from antiphon.console.containers import ContainerReader  # noqa: PLC0415 - for the console alone

        return ContainerReader(self._engine.store)

    @cached_property
    def vector_stores(self) -> "VectorStores":
        """The vector stores; loaded by the first request for one."""
        from antiphon.objects.vector_stores import VectorStores  # noqa: PLC0415 - for vector stores alone

        engine = self._engine
        indexing = engine.embedding_model, engine.chunk_tokens
        return VectorStores(engine.store, lambda: engine.search, self._capacity, *indexing, self.new_id, self.now)

    @cached_property
    def vector_store_files(self) -> "VectorStoreFiles":
        """The files in vector stores; loaded by the first request for vector stores."""
        from antiphon.objects.file_text import file_text  # noqa: PLC0415 - for vector stores alone
        from antiphon.objects.vector_store_files import VectorStoreFiles  # noqa: PLC0415 - the same

        engine = self._engine
        read_text = partial(file_text, engine)
        return VectorStoreFiles(
            engine.store, self.vector_stores, lambda: engine.files, read_text, self._capacity, self.new_id
        )

    @cached_property
    def file_lists(self) -> "FileLists":
        """The console's lists of files and vector stores; loaded when they are used."""
        from antiphon.console.files import FileLists  # noqa: PLC0415 - for the console alone

        return FileLists(lambda: self.files, self.vector_stores, self.vector_store_files, self._capacity)

    @cached_property
    def console(self) -> "ConsoleReader":
        """The console's view of responses; loaded when the console is used."""
        from antiphon.console.reader import ConsoleReader  # noqa: PLC0415 - for the console alone
        from antiphon.console.rebuilt import rebuild_calls  # noqa: PLC0415 - the same

        engine = self._engine
        rebuild = partial(rebuild_calls, engine)
        return ConsoleReader(engine.store, self._views, rebuild, engine.runs, engine.retention, self.now)

    @cached_property
    def reports(self) -> "Reports":
        """The reports of `antiphon verify`; loaded when the console shows one."""
        from antiphon.console.reports import Reports  # noqa: PLC0415 - for the console alone

        return Reports(self._engine.store, self._engine.offload)

    @cached_property
    def keys(self) -> "Keys":
        """The API keys, as the console manages them."""
        from antiphon.objects.keys import Keys  # noqa: PLC0415 - for the console alone

        return Keys(self._engine.store, self.known_keys, self.new_id, self.now)

    @cached_property
    def deliveries(self) -> "WebhookDeliveries":
        """The deliveries of webhooks, as the console manages them."""
        from antiphon.objects.webhooks import WebhookDeliveries  # noqa: PLC0415 - for the console alone

        return WebhookDeliveries(self._engine.store)

    @cached_property
    def sessions(self) -> "Sessions":
        """The sessions of the console."""
        from antiphon.access.sessions import Sessions  # noqa: PLC0415 - for the console alone

        return Sessions(self._engine.store, self.now)

    @cached_property
    def failed_attempts(self) -> "FailedAttempts":
        """The rate limiter for failed sign-ins to the console, by address."""
        from antiphon.access.sessions import FailedAttempts  # noqa: PLC0415 - for the console alone

        return FailedAttempts(monotonic)


def charged_to(ticket: RequestIdentity, grant: UsageLease | None) -> RequestIdentity:
    """Return the ticket of a background response, which settles its reservation."""
    return ticket if grant is None else replace(ticket, taken=grant.taken)
