"""Helpers of the commands that work on the store: they open it, act, close it, and print
results.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console

from antiphon.cli.settings import read_settings
from antiphon.storage.open import open_store
from antiphon.storage.store import Store


def with_store(
    url: str | None, config: Path | None, act: Callable[[Store], Awaitable[None]]
) -> None:
    """Open the store of the settings, act on it, and close it."""

    async def run() -> None:
        store = await open_store(read_settings(config, store=url).store)
        try:
            await act(store)
        finally:
            await store.close()

    asyncio.run(run())


def print_result(words: str) -> None:
    """Print the result of a command."""
    Console().print(words, highlight=False, markup=False, soft_wrap=True)


def notice(words: str) -> None:
    """Print a note for people on standard error, so that programs in a pipe do not receive it."""
    Console(stderr=True).print(words, highlight=False, markup=False, soft_wrap=True)
