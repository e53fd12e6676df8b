"""A receiver of webhooks, and what it must have received."""

import asyncio
import json
import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.build import Application
from antiphon.protocol.resources import CreateWebhookEndpoint, EventTypes

URL = "https://receiver.example/hook"

TYPES: EventTypes = [
    "response.completed",
    "response.failed",
    "response.cancelled",
    "response.incomplete",
]

TIMEOUT = 10.0
"""Seconds that a receiver has to answer, as in `antiphon.webhooks.courier`."""

WAITING = "SELECT count(*) FROM webhook_deliveries WHERE failed_at IS NULL"


@dataclass(slots=True)
class Receiver:
    """What it received: for each response, the ids of deliveries with what they said."""

    dice: random.Random
    trouble: float = 0.0
    """The chance that a request is refused, lost, or received without an acknowledgement."""
    received: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))

    async def post(self, url: str, body: bytes, headers: dict[str, str], tenant: str = "") -> int:
        """Receive a delivery, as `OutboundClient.post` sends it."""
        await asyncio.sleep(self.dice.random() * 0.2)
        fate = self.dice.random() / self.trouble if self.trouble else 1.0
        if fate < 0.25:
            raise OSError("Connection refused")
        if fate < 0.5:
            return 503
        if fate < 0.75:
            await asyncio.sleep(TIMEOUT)
            raise OSError("it did not answer in time")
        event = json.loads(body)
        seen = (headers["webhook-id"], event["type"])
        self.received[event["data"]["id"]].add(seen)
        await asyncio.sleep(self.dice.random() * 0.2)
        if fate < 1.0:
            raise OSError("Connection reset by peer")
        return 200


async def subscribe(application: Application, tenants: tuple[str, ...]) -> None:
    """Create an endpoint of each tenant."""
    for tenant in tenants:
        await application.endpoints.create(
            tenant, CreateWebhookEndpoint(name="hook", url=URL, event_types=TYPES)
        )


def waiting(connection: sqlite3.Connection) -> int:
    """Return how many deliveries wait."""
    (count,) = connection.execute(WAITING).fetchone()
    return int(count)


def undelivered(
    receiver: Receiver, responses: Mapping[str, dict[str, Any] | None], background: set[str]
) -> Iterator[str]:
    """Yield each background response whose end was not announced once, by whatever number of
    deliveries with one id.
    """
    for response_id in sorted(background):
        response = responses.get(response_id)
        if response is None:
            continue
        seen = receiver.received[response_id]
        if {kind for _, kind in seen} != {f"response.{response['status']}"} or len(seen) != 1:
            yield f"{response_id} ended as {response['status']} and was announced as {sorted(seen)}"
