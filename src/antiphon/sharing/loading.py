"""Loads modules that are large and rarely needed: on first use, outside the event loop."""

import asyncio
from typing import Any

from antiphon.packages import load_module, load_optional


async def load(name: str) -> Any:
    """Return a module by its name. Raises `BrokenPackageError` if it cannot be loaded.

    It is imported in a thread. An HTTP client takes 0.15 s and the MCP SDK a second, during which
    the event loop would serve no request. Await it before the time limit of an operation begins.
    """
    return await asyncio.to_thread(load_module, name)


async def load_if_installed(name: str) -> None:
    """Load a module in a thread, if it is installed.

    One that is broken is logged: then its users do without it.
    """
    await asyncio.to_thread(load_optional, name)
