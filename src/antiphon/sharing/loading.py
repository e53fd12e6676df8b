"""Loads modules that are large and rarely needed: on first use, outside the event loop."""

import asyncio
from importlib import import_module
from typing import Any


async def load(name: str) -> Any:
    """Return a module by its name.

    It is imported in a thread. An HTTP client takes 0.15 s and the MCP SDK a second, during which the event loop
    would serve no request. Await it before the time limit of an operation begins.
    """
    return await asyncio.to_thread(import_module, name)
