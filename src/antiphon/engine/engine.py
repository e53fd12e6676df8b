"""What makes responses: the parts that every response needs, and what this process holds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields

from antiphon.access.keyring import Keyring
from antiphon.engine.caching.cache import Cache, Room
from antiphon.engine.history import Context, conversation_locked, conversation_not_found, gather
from antiphon.engine.keeping import Foreground, Terms, Ticket
from antiphon.engine.keys.known import KnownKeys
from antiphon.engine.keys.meter import Meter
from antiphon.engine.observers import Observers
from antiphon.engine.routing.registry import ModelRegistry
from antiphon.engine.routing.router import Router, chains_of
from antiphon.engine.run import Run
from antiphon.engine.tools import look_at_tools
from antiphon.engine.toolset import Toolset
from antiphon.engine.wakes import Wakes
from antiphon.errors import AntiphonError
from antiphon.ids import Clock, NewId, new_id
from antiphon.protocol.requests import CreateResponse
from antiphon.storage.contract import Outcome, Store, StoredItem
from antiphon.telemetry.metrics import Measures


@dataclass(slots=True)
class Engine:
    """Makes responses. `new_id` and `now` are handed in, so that a trace can be exact."""

    models: ModelRegistry
    store: Store
    new_id: NewId
    now: Clock
    retention: int = 30 * 86_400
    """Seconds for which a response is kept."""
    keyring: Keyring = field(default_factory=Keyring)
    strict_tools: bool = False
    """Tools that this server cannot run are refused, not left out."""
    toolset: Toolset = field(default_factory=Toolset)
    """The tools that this server runs itself."""
    strict_seals: bool = False
    """An `encrypted_content` that cannot be opened is refused, not left out."""
    worker: str = field(default_factory=lambda: new_id("worker"))
    """The name under which this process holds things in the store."""
    observers: Observers = field(default_factory=Observers)
    measures: Measures = field(default_factory=Measures)
    room: Room = field(default_factory=Room)
    """How much is kept of answers, to be given again."""
    wakes: Wakes = field(default_factory=Wakes)
    holding: set[str] = field(default_factory=set)
    """Responses that hold a conversation or a key while they are made here."""
    runs: set["Run"] = field(default_factory=set)
    """Responses that are being made here."""
    takes_work: bool = True
    """False once this process is about to end."""
    is_over: bool = False
    """Nobody is to be served any longer."""
    router: Router = field(init=False)
    cache: Cache = field(init=False)
    api_keys: KnownKeys = field(init=False)
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        self.router = Router(self.models)
        self.cache = Cache(self.store, self.router, self.now, self.room)
        self.api_keys = KnownKeys(self.store)
        self.meter = Meter(self.store, self.now)

    async def create(
        self,
        request: CreateResponse,
        ticket: Ticket | None = None,
        *,
        recalled: Sequence[StoredItem] | None = None,
        generates: bool = True,
    ) -> "Run":
        """Begin a response. Raises `ClientError` for what can be refused before the model is asked.

        `recalled` is what the previous response leaves to this one, where that is known without the store. What does
        not generate asks no model and ends well, with nothing in it (specification section 8, warm-up).
        """
        ticket = self.ticket(ticket)
        terms = Terms(ticket.tenant, request.store is not False, self.retention)
        keeper = Foreground(
            self.store, terms, Context(), ticket, request.conversation_id, bool(request.stream), self.holding
        )
        try:
            await self._hold(request, ticket)
            keeper.context = await gather(
                request, self.store, self.new_id, ticket.tenant, recalled, needs_input=generates
            )
            targets = await self.models.candidates(request.model)
            lookup = self.cache.lookup(request, keeper.context, targets) if generates else None
            chains, tenant = chains_of(request, ticket.tenant), ticket.tenant
            route = await self.router.route(request.model, *chains, tenant=tenant, is_late=lookup is not None)
            items = keeper.context.items
            api, served = route.target.api_for(request, items), self.toolset.served
            ignored = look_at_tools(request, items, api, served, refuses=self.strict_tools)
            if api == "chat":
                self.toolset.check(request.tools or ())
            run = Run(self, request, keeper.context, route, keeper, ticket.response_id, ignored=ignored, lookup=lookup)
            if not generates:
                run.warm_up()
            return run
        except BaseException:
            await keeper.drop()
            raise

    def wind_down(self) -> None:
        """Take no new work; what was begun goes on."""
        self.takes_work = False
        self.wakes.wake("")

    def cut_off(self) -> None:
        """End what is being made here: this process is about to end itself."""
        self.takes_work, self.is_over = False, True
        for run in list(self.runs):
            run.stop(going_away())
        self.wakes.wake("")

    def ticket(self, given: Ticket | None) -> Ticket:
        """Return a ticket that names the response to be made."""
        given = given or Ticket()
        return given if given.response_id else replace_fields(given, response_id=self.new_id("resp"))

    async def _hold(self, request: CreateResponse, ticket: Ticket) -> None:
        if ticket.key:
            self.holding.add(ticket.response_id)
        if request.conversation_id is not None:
            self.holding.add(ticket.response_id)
            held = await self.store.hold(ticket.tenant, request.conversation_id, ticket.response_id, self.worker)
            if held is Outcome.UNKNOWN:
                raise conversation_not_found(request.conversation_id)
            if held is Outcome.BUSY:
                raise conversation_locked()


def going_away() -> AntiphonError:
    """Return the error for work that comes while this process is about to end."""
    text = "This server is shutting down. Please retry."
    return AntiphonError(text, status=503, code="server_error", headers={"retry-after": "1", "connection": "close"})
