"""The parts that every response needs, the state of this process while it runs responses, and how it stops."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from antiphon.access.api_keys import KnownKeys
from antiphon.access.keyring import Keyring
from antiphon.access.metering import MAX_RESPONSES, Meter, response_slots
from antiphon.access.spending import RESERVED, Tariff
from antiphon.cache.cache import Cache, Room
from antiphon.errors import AntiphonError
from antiphon.history.bounds import Bounds
from antiphon.history.chain_cache import ChainCache
from antiphon.history.vision import Vision
from antiphon.ids import Clock, NewId, new_id
from antiphon.recording.facts_writer import FactsWriter
from antiphon.recording.persistence import RequestIdentity
from antiphon.recording.quota import StorageQuota, StorageReservation
from antiphon.runs.prompt_memory import PromptMemory
from antiphon.sharing.memory import Memory
from antiphon.sharing.offload import Offload, thread_turns
from antiphon.sharing.resources import SharedResources
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.blobs.base import FileReader
from antiphon.storage.notifications import Notifier
from antiphon.storage.store import Store
from antiphon.telemetry.metrics import Measures
from antiphon.telemetry.observers import Observers
from antiphon.tools.base import CodeState
from antiphon.tools.registry import Toolset
from antiphon.upstream.outages import Outages
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Router

if TYPE_CHECKING:
    from antiphon.documents.reader import DocumentReader
    from antiphon.forwarding.image_answers import ReadImage
    from antiphon.history.attachments import Attachments
    from antiphon.history.prompted import SettingsPrompt
    from antiphon.search.contract import Embeddings, StoreSearch


class ActiveRun(Protocol):
    """A response that runs in this process."""

    def stop(self, error: AntiphonError) -> None:
        """Make the response fail with this error, as soon as possible."""
        ...


class Holdings(set[str]):
    """Ids of running responses that hold a lease; `begin` is called with each id that is added."""

    def __init__(self) -> None:
        super().__init__()
        self.begin: Callable[[], None] = lambda: None

    def add(self, response_id: str) -> None:
        """Add an id, before its lease is acquired."""
        super().add(response_id)
        self.begin()


@dataclass(slots=True)
class Upkeep:
    """The reason why this process does not delete expired data, or why it stores nothing."""

    clock_skew: float = 0.0
    """Seconds by which its clock is ahead of the store's."""
    purge_held: int = 0
    """Stored responses that have expired, if they are too many for one purge."""
    is_disk_full: bool = False
    """Whether the disk of the store has no room."""


@dataclass(slots=True)
class Engine:
    """The shared parts. `new_id` and `now` are passed in, so that a trace is reproducible."""

    models: ModelRegistry
    store: Store
    new_id: NewId
    now: Clock
    retention: int = 30 * 86_400
    """Seconds until a response expires."""
    keyring: Keyring = field(default_factory=Keyring)
    strict_tools: bool = False
    """Tools that this server cannot run are rejected, not omitted."""
    toolset: Toolset = field(default_factory=Toolset)
    """The tools that this server runs."""
    strict_seals: bool = False
    """An `encrypted_content` that cannot be opened is rejected, not omitted."""
    worker: str = field(default_factory=lambda: new_id("worker"))
    """The name under which this process holds leases in the store."""
    observers: Observers = field(default_factory=Observers)
    measures: Measures = field(default_factory=Measures)
    room: Room = field(default_factory=Room)
    """Size limit of the cache of answers."""
    chains: ChainCache = field(default_factory=ChainCache)
    """The chains used recently."""
    facts: FactsWriter | None = None
    """Stores facts about responses; None if they are not stored."""
    prompts: PromptMemory | None = field(default_factory=PromptMemory)
    """The newest prompts of sessions; None if prompts are not compared."""
    vision: Vision | None = None
    """Describes images for models without vision; None if these receive images unchanged."""
    bounds: Bounds = field(default_factory=Bounds)
    """How much state a request can contain, load and store."""
    memory: Memory = field(default_factory=Memory)
    """The memory that this process can use for clients: bodies, messages, histories."""
    reads: FairScheduler = field(default_factory=FairScheduler)
    """Shares the reading and decoding of large data fairly between tenants."""
    wakes: Notifier = field(default_factory=Notifier)
    holding: Holdings = field(default_factory=Holdings)
    """Running responses that hold a lease on a conversation or a key."""
    queue_per_tenant: int = 1_000
    """Background responses of one tenant that can be queued."""
    upkeep: Upkeep = field(default_factory=Upkeep)
    shared: SharedResources = field(default_factory=SharedResources)
    """The capacity that tenants share in this process."""
    code_state: Callable[[], CodeState] | None = None
    """Returns the state of the sandbox for code; None if no sandbox is configured."""
    max_responses: int = MAX_RESPONSES
    """Concurrent responses per API key; 0 for no limit."""
    runs: set[ActiveRun] = field(default_factory=set)
    """Responses that run in this process."""
    accepts_work: bool = True
    """False once this process is shutting down."""
    is_over: bool = False
    """Clients are no longer served."""
    currency: str = "USD"
    """The currency of prices and budgets, a label."""
    reserved_output: int = RESERVED
    """Tokens reserved for an answer if the request does not limit its length."""
    open_files: Callable[[], FileReader] | None = None
    """Creates the service that finds and reads files; called once, by the first request that needs a file."""
    _files: FileReader | None = field(init=False, default=None)
    open_documents: "Callable[[], DocumentReader] | None" = None
    """Creates the reader of documents; called once, by the first request that needs one."""
    _documents: "DocumentReader | None" = field(init=False, default=None)
    open_attachments: "Callable[[], Attachments] | None" = None
    """Creates the reader of files in requests; called once, by the first request that has one."""
    _attachments: "Attachments | None" = field(init=False, default=None)
    open_search: "Callable[[], StoreSearch] | None" = None
    """Creates the search of vector stores; called once, by the first search."""
    _search: "StoreSearch | None" = field(init=False, default=None)
    open_images: Callable[[], Router | None] | None = None
    """Creates the routing to the image server; called once, by the first request for an image."""
    images_model: str = ""
    """The model that generates images if a request names none."""
    read_image: "ReadImage | None" = None
    """Reads an image that a server returns by URL; None refuses it."""
    _image_router: Router | None = field(init=False, default=None)
    embedding_model: str = ""
    """Model that embeds the chunks of new vector stores; empty for none."""
    chunk_tokens: Mapping[str, int] = field(default_factory=dict)
    """Sizes of chunks by embedding model, for files that are attached without one."""
    named_prompts: "Mapping[str, SettingsPrompt]" = field(default_factory=dict)
    """The prompts of the settings, by their ids."""
    open_embeddings: "Callable[[str], Embeddings] | None" = None
    """Creates the client that computes embeddings with a model; called once for each model."""
    _embeddings: "dict[str, Embeddings]" = field(init=False, default_factory=dict)
    outages: Outages = field(default_factory=Outages)
    """Embedding models that do not answer."""
    router: Router = field(init=False)
    cache: Cache = field(init=False)
    api_keys: KnownKeys = field(init=False)
    meter: Meter = field(init=False)
    quota: StorageQuota = field(init=False)
    offload: Offload = field(init=False)
    """Threads for work on large requests."""

    def __post_init__(self) -> None:
        self.router = Router(self.models)
        self.cache = Cache(self.store, self.router, self.now, self.room)
        self.api_keys = KnownKeys(self.store)
        responses = self.shared.add("responses", response_slots(self.max_responses))
        self.quota = StorageQuota(self.store, self.bounds)
        tariff = Tariff(self.models, lambda: () if self.vision is None else (self.vision.model,), self.reserved_output)
        self.meter = Meter(self.store, self.now, responses, tariff, self.currency)
        self.offload = Offload(self.shared.add("large_requests", thread_turns()))

    @property
    def files(self) -> FileReader:
        """The service that finds and reads files: created on first use, so that other requests never load it."""
        if self._files is None:
            if self.open_files is None:
                raise TypeError("this engine has no files")
            self._files = self.open_files()
        return self._files

    @property
    def documents(self) -> "DocumentReader":
        """The reader of documents; see `files`."""
        if self._documents is None:
            if self.open_documents is None:
                raise TypeError("this engine reads no documents")
            self._documents = self.open_documents()
        return self._documents

    @property
    def attachments(self) -> "Attachments":
        """The reader of files in requests; see `files`."""
        if self._attachments is None:
            if self.open_attachments is None:
                raise TypeError("this engine reads no files in requests")
            self._attachments = self.open_attachments()
        return self._attachments

    @property
    def search(self) -> "StoreSearch":
        """The search of vector stores; see `files`."""
        if self._search is None:
            if self.open_search is None:
                raise TypeError("this engine searches nothing")
            self._search = self.open_search()
        return self._search

    @property
    def image_router(self) -> Router:
        """The routing to the models that generate images: on a dedicated server, else on the backends."""
        if self._image_router is None:
            self._image_router = (self.open_images() if self.open_images is not None else None) or self.router
        return self._image_router

    async def close_images(self) -> None:
        """Close the connections to a dedicated image server."""
        if self._image_router not in (None, self.router):
            for served in self._image_router.registry.backends:
                await served.backend.close()

    def embeddings(self, model: str) -> "Embeddings":
        """Return the embeddings client for a model, which knows the limits of its server."""
        if model not in self._embeddings:
            if self.open_embeddings is None:
                raise TypeError("this engine has no embeddings")
            self._embeddings[model] = self.open_embeddings(model)
        return self._embeddings[model]

    async def reserve_storage(self, tenant: str, size: int = 0) -> StorageReservation:
        """Reserve storage for a request of `size` bytes. Raises `ClientError` (429): see `StorageQuota`."""
        self.quota.bounds = self.bounds  # tests replace them
        return await self.quota.reserve(tenant, size)

    def ticket(self, given: RequestIdentity | None) -> RequestIdentity:
        """Return the identity of a request, with an id for its response."""
        given = given or RequestIdentity()
        return given if given.response_id else replace(given, response_id=self.new_id("resp"))

    def drain(self) -> None:
        """Accept no new work; work that has begun continues."""
        self.accepts_work = False
        self.wakes.wake("")

    def abort(self) -> None:
        """Stop all running responses: this process is shutting down."""
        self.accepts_work, self.is_over = False, True
        for run in list(self.runs):
            run.stop(going_away())
        self.wakes.wake("")


def going_away() -> AntiphonError:
    """Return the error for requests that arrive while this process is shutting down."""
    text = "This server is shutting down. Please retry."
    return AntiphonError(text, status=503, code="server_error", headers={"retry-after": "1", "connection": "close"})
