"""Takes deliveries out of the outbox and brings them to their endpoints, again and again until they are received."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from antiphon.errors import ClientError, StoreError, log
from antiphon.ids import Clock
from antiphon.outbound.ssrf import ANYWHERE, Reach
from antiphon.storage.contract import Delivery, Store, WebhookEndpoint
from antiphon.webhooks.sign import signature

if TYPE_CHECKING:
    from antiphon.outbound.client import Client

TIMEOUT = 10.0
"""Seconds that an endpoint has to answer."""

HOLD = 60
"""Seconds for which a delivery that is under way is nobody else's."""

AT_ONCE = 16

LOOK_EVERY = 1.0
"""Seconds between looks into the outbox."""

FIRST_WAIT = 5.0
LONGEST_WAIT = 6 * 3600.0
"""Seconds between tries: five, doubled each time, up to six hours, with up to a fifth more or less by chance."""

GIVEN_UP_AFTER = 72 * 3600
"""Seconds."""

USER_AGENT = "OpenAI/1.0 (+https://platform.openai.com/docs/webhooks)"
"""Receivers that look for it take no other (specification section 12)."""


def webhook_reach(*, takes_private: bool) -> Reach:
    """Return where webhooks may be delivered: to public addresses, or anywhere."""
    return Reach(ANYWHERE if takes_private else (), setting="webhook_private_addresses")


def wait_after(attempts: int, chance: float) -> float:
    """Return the seconds from a failed attempt to the next; `chance` is between 0 and 1."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempts - 1, 40)) * (0.8 + 0.4 * chance)


class Courier:
    """Delivers what is due, from `start` to `close`. Every process has one; the store sees that none do it twice."""

    def __init__(
        self,
        store: Store,
        now: Clock,
        reach: Reach,
        *,
        chance: Callable[[], float] = random.random,
        count: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        self._store = store
        self._now = now
        self._chance = chance
        self._count = count
        self._reach = reach
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to deliver."""
        self._task = asyncio.create_task(self._deliver())

    async def close(self) -> None:
        """Deliver no more; what was under way is tried again by another, or later."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._client is not None:
            await self._client.close()

    async def send(self, endpoint: WebhookEndpoint, delivery_id: str, body: bytes) -> int:
        """Send one event now; return the status. Raises `ClientError` or `OSError` where it cannot be sent."""
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
        if self._client is None:
            from antiphon.outbound.client import Client  # noqa: PLC0415 - loaded for the first delivery

            self._client = Client(self._reach, TIMEOUT)
        return await self._client.post(endpoint.url, body, headers)

    async def _deliver(self) -> None:
        while True:
            try:
                due = await self._store.due(AT_ONCE, HOLD)
                await asyncio.gather(*map(self._try, due))
            except StoreError as error:
                due = []
                log.debug("Webhooks wait for the store: %s", error)
            if len(due) < AT_ONCE:
                await asyncio.sleep(LOOK_EVERY)

    async def _try(self, delivery: Delivery) -> None:
        try:
            status = await self.send(delivery.endpoint, delivery.id, delivery.body)
            trouble = "" if 200 <= status < 300 else f"it answered with status {status}"
        except (ClientError, OSError) as error:
            trouble = str(error)
        if not trouble:
            self._count("delivered")
            await self._store.delivered(delivery.id)
            return
        wait = wait_after(delivery.attempts, self._chance())
        due_at = int(self._now() + wait) + 1
        is_over = due_at > delivery.created_at + GIVEN_UP_AFTER
        self._count("given_up" if is_over else "failed")
        await self._store.postpone(delivery.id, None if is_over else due_at, trouble)
        if is_over:
            log.warning("A webhook for %s was given up: %s", delivery.endpoint.id, trouble)
