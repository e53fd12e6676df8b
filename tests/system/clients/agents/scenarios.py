"""What the programs of this folder share: they run scenarios against a base URL, and print a line
of JSON for each.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any


async def _each(url: str, scenarios: tuple[Callable[[str], Awaitable[list[Any]]], ...]) -> None:
    for scenario in scenarios:
        try:
            stated: Any = await scenario(url)
        except Exception as error:
            stated = [repr(error)[:2000]]
        print(json.dumps({"scenario": scenario.__name__, "said": stated}), flush=True)


def run(*scenarios: Callable[[str], Awaitable[list[Any]]]) -> None:
    """Run scenarios in turn; the first argument of the command line is the base URL."""
    asyncio.run(_each(sys.argv[1], scenarios))
