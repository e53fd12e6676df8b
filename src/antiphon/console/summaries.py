"""Rows of the console's list: a `response.summary` with its tenant, the name of its API key, and
its cost.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from antiphon.ids import Clock, request_id_of
from antiphon.objects.response_list import displayed
from antiphon.storage.operations import api_keys
from antiphon.storage.records.facts import OWN_ID, Facts
from antiphon.storage.store import Store
from antiphon.upstream.prices import NANO

FRESH, AGAIN = 30.0, 1.0
"""Seconds for which the names of API keys are cached. The shorter time applies if a name is
missing.
"""


class KeyNames:
    """The names of the store's API keys. `clock` is monotonic, in seconds."""

    def __init__(self, store: Store, clock: Clock = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._names: dict[str, str] = {}
        self._read_at = float("-inf")

    async def load(self, ids: Iterable[str] = ()) -> dict[str, str]:
        """Return the names by id.

        If one of `ids` is missing, it may be new. Raises `StoreError`.
        """
        age = self._clock() - self._read_at
        if age >= FRESH or (age >= AGAIN and not self._names.keys() >= {*ids} - {""}):
            self._names = {key.id: key.name for key in await self._store.read(api_keys.every)}
            self._read_at = self._clock()
        return self._names


def summary(facts: Facts, names: Mapping[str, str]) -> dict[str, Any]:
    """Return one response as the console lists it. `cost` is in units of the server's currency.

    `request_id` is None if the id of the response has other digits than that of its request.
    """
    return displayed(facts) | {
        "request_id": None if facts.flags & OWN_ID else request_id_of(facts.id),
        "tenant": facts.tenant,
        "api_key_name": names.get(facts.key_id),
        "cost": in_units(facts.cost),
        "started_ms": facts.began,
    }


def in_units(cost: int | None) -> float | None:
    """Return a cost in units of the currency."""
    return None if cost is None else cost / NANO
