"""Modules that are large and that few servers need: loaded when they are first needed, beside the event loop."""

import asyncio
from importlib import import_module
from typing import Any


async def load(name: str) -> Any:
    """Return a module by its name.

    It is imported in a thread. An HTTP client takes 0.15 s and what speaks MCP a second, during which the event loop
    would serve nobody. Await it before the time limit of an operation begins.
    """
    return await asyncio.to_thread(import_module, name)
