"""Reads deliveries from the outbox and sends them to their endpoints, with retries until they are
received.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from antiphon.errors import ClientError, StoreError, log
from antiphon.extras import missing
from antiphon.ids import Clock
from antiphon.outbound.lookups import Lookups, lookup_turns
from antiphon.outbound.ssrf import ANYWHERE, Reach, Resolve
from antiphon.sharing.loading import load
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.storage.operations import webhooks
from antiphon.storage.records.tenants import Delivery, DueDelivery, WebhookEndpoint
from antiphon.storage.store import Store
from antiphon.webhooks.sign import signature

if TYPE_CHECKING:
    from antiphon.outbound.client import OutboundClient

TIMEOUT = 10.0
"""Seconds that an endpoint has to answer, including DNS, but not the wait for the lookup."""

HOLD = 60
"""Seconds for which no other process can attempt a claimed delivery."""

LONGEST_ATTEMPT = 45.0
"""Seconds that an attempt can take, including the wait for a lookup: it ends before another process
repeats it.
"""

AT_ONCE = 64
"""Concurrent attempts. They wait for other servers and need almost no CPU."""

QUERY_INTERVAL = 256
"""Deliveries that one read of the outbox returns."""

POLL_INTERVAL = 1.0
"""Seconds between reads of the outbox."""

FIRST_WAIT = 5.0
LONGEST_WAIT = 6 * 3600.0
"""Seconds between attempts: five, doubled each time, up to six hours, with up to a fifth of random
jitter.
"""

ABANDONED_AFTER = 72 * 3600
"""Seconds."""

FEATURE = "Webhooks"
"""The purpose of the extra `webhooks`, for errors."""

USER_AGENT = "OpenAI/1.0 (+https://platform.openai.com/docs/webhooks)"
"""Receivers that check it accept no other (specification section 12)."""


def webhook_reach(*, allows_private: bool, resolve: Resolve | None = None) -> Reach:
    """Return the permitted addresses of webhooks: public ones, or all."""
    resolve = resolve or Lookups(lookup_turns())
    return Reach(
        ANYWHERE if allows_private else (), setting="webhook_private_addresses", resolve=resolve
    )


def wait_after(attempts: int, chance: float) -> float:
    """Return the seconds from a failed attempt to the next; `chance` is between 0 and 1."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempts - 1, 40)) * (0.8 + 0.4 * chance)


def delivery_turns() -> FairScheduler:
    """Return the scheduler of a process's attempts to deliver."""
    return FairScheduler(AT_ONCE, 2 * QUERY_INTERVAL, leaves_room=True)


class Courier:
    """Delivers due events, from `start` to `close`.

    Every process has one; the store prevents duplicate deliveries.

    An attempt begins as soon as its tenant's turn has come, regardless of slow ones. Until then
    nothing is claimed in the store, so that another process can deliver it first.
    """

    def __init__(
        self,
        store: Store,
        now: Clock,
        reach: Reach,
        *,
        turns: FairScheduler | None = None,
        chance: Callable[[], float] = random.random,
        count: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        self._store = store
        self._now = now
        self._chance = chance
        self._count = count
        self._reach = reach
        self._turns = turns or delivery_turns()
        self._client: OutboundClient | None = None
        self._task: asyncio.Task[None] | None = None
        self._attempts: dict[str, asyncio.Task[None]] = {}
        """By the delivery's id: those that wait for their turn, and those in progress."""
        self._has_more = False
        """Whether the outbox has more deliveries than the last read returned."""
        self._needed = asyncio.Event()
        """Set when it is time to read the outbox."""

    def start(self) -> None:
        """Start to deliver."""
        self._task = asyncio.create_task(self._deliver())

    async def close(self) -> None:
        """Stop delivering; deliveries in progress are retried by another process, or later."""
        tasks = [*([self._task] if self._task else []), *self._attempts.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def test(self, endpoint: WebhookEndpoint, delivery_id: str, body: bytes) -> int:
        """Send one event now, in its tenant's turn; return the status.

        Raises `NoRoomError` if the queue is full, and the errors of `send`.
        """
        async with self._turns.slot(endpoint.tenant):
            return await self.send(endpoint, delivery_id, body)

    async def send(self, endpoint: WebhookEndpoint, delivery_id: str, body: bytes) -> int:
        """Send one event now; return the status.

        Raises `ClientError` or `OSError` if it cannot be sent.
        """
        timestamp = int(self._now())
        secrets = [endpoint.secret]
        if endpoint.old_secret is not None and endpoint.old_secret_until > timestamp:
            secrets.append(endpoint.old_secret)
        headers = {
            "content-type": "application/json",
            "user-agent": USER_AGENT,
            "webhook-id": delivery_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(secrets, delivery_id, timestamp, body),
        }
        client = self._client or await self._load()
        return await client.post(endpoint.url, body, headers, endpoint.tenant)

    async def _load(self) -> "OutboundClient":
        """Create the client, for the first delivery.

        Raises `ClientError` if its packages are not installed.
        """
        if error := missing("webhooks", FEATURE):
            raise error
        module = await load("antiphon.outbound.client")
        client: OutboundClient = module.OutboundClient(self._reach, TIMEOUT)
        self._client = client
        return client

    async def _deliver(self) -> None:
        while True:
            self._needed.clear()
            try:
                due = await self._store.write(webhooks.due, QUERY_INTERVAL)
                self._has_more = len(due) >= QUERY_INTERVAL // 2
                for one in due:
                    if one.id not in self._attempts:
                        self._begin(one)
            except StoreError as error:
                log.debug("Cannot read the outbox of webhooks: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_INTERVAL):
                    await self._needed.wait()

    def _begin(self, due: DueDelivery) -> None:
        task = asyncio.create_task(self._attempt(due))
        self._attempts[due.id] = task
        task.add_done_callback(lambda task: self._ended(due.id, task))

    def _ended(self, delivery_id: str, task: "asyncio.Task[None]") -> None:
        del self._attempts[delivery_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("A fault in Antiphon", exc_info=error)
        if self._has_more and len(self._attempts) <= QUERY_INTERVAL // 2:
            self._needed.set()

    async def _attempt(self, due: DueDelivery) -> None:
        """Deliver once the tenant's turn has come, unless another process was faster."""
        try:
            async with self._turns.slot(due.tenant):
                delivery = await self._store.write(webhooks.claim, due.id, HOLD)
                if delivery is not None:
                    await self._try(delivery)
        except NoRoomError:
            """The delivery is in the store, and a later read finds it again."""
        except StoreError as error:
            log.debug("Cannot record the delivery of a webhook: %s", error)

    async def _try(self, delivery: Delivery) -> None:
        trouble = await self._trouble(delivery)
        if not trouble:
            self._count("delivered")
            await self._store.write(webhooks.delivered, delivery.id)
            return
        wait = wait_after(delivery.attempts, self._chance())
        due_at = int(self._now() + wait) + 1
        is_over = due_at > delivery.created_at + ABANDONED_AFTER
        self._count("given_up" if is_over else "failed")
        await self._store.write(
            webhooks.postpone, delivery.id, None if is_over else due_at, trouble
        )
        if is_over:
            log.warning(
                "A webhook for %s failed, and will not be retried: %s",
                delivery.endpoint.id,
                trouble,
            )

    async def _trouble(self, delivery: Delivery) -> str:
        """Send a delivery; return the reason if it was not received, empty if it was."""
        try:
            async with asyncio.timeout(LONGEST_ATTEMPT):
                status = await self.send(delivery.endpoint, delivery.id, delivery.body)
        except TimeoutError:
            return "its name was not resolved in time"
        except (ClientError, OSError) as error:
            return str(error)
        return "" if 200 <= status < 300 else f"it answered with status {status}"
