"""Limits that several processes share."""

import asyncio
import multiprocessing
from typing import Any

from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import ApiKey
from tests.support.keys import issued


async def _take(url: str, key_id: str, limits: Any, times: int) -> int:
    store = await open_store(url)
    try:
        levels = await asyncio.gather(
            *(store.write(api_keys.take, key_id, limits, 100) for _ in range(times))
        )
        return sum(level.is_granted for level in levels)
    finally:
        await store.close()


def take_elsewhere(url: str, key: ApiKey, times: int) -> int:
    """Take in a process of its own."""
    return asyncio.run(_take(url, key.id, key.limits, times))


async def test_several_processes_together_grant_no_more(store_url: str) -> None:
    store = await open_store(store_url)
    limits: list[dict[str, Any]] = [
        {"requests_per_minute": 10},
        {"tokens_per_minute": 1000},
        {"tokens_per_day": 1000},
    ]
    stored_key = [(await issued(store, **one))[1] for one in limits]
    await store.close()
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        for key in stored_key:
            granted = await asyncio.to_thread(
                pool.starmap, take_elsewhere, [(store_url, key, 70)] * 3
            )
            assert sum(granted) == 10
