"""The task of `refusing.py` for frameworks, which run in the environment of `requirements.txt`.

A program of this folder gets the base URL, the schema of the tool as JSON, and models. It prints a
line of JSON for each model: what was said at the end, first plain, then streamed, or the error.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

SPOKEN = ("Good day.", "When is high water?")
RULES = ("Use the tools.", "Speak plainly.")

Send = Callable[[bool], Awaitable[str]]
"""Does the task, streamed or not, and returns what the model said at the end."""


def tide(**value: Any) -> str:
    return f"High water in {value['place']} is at 14:05."


def ping(**_: Any) -> str:
    return "pong"


async def _tasks(
    begin: Callable[[str, str, Any], Send], url: str, schema: str, *models: str
) -> None:
    for model in models:
        state = begin(url, model, json.loads(schema))
        try:
            stated = [await state(False), await state(True)]
        except Exception as error:
            stated = [repr(error)[:2000]]
        print(json.dumps({"model": model, "said": stated}), flush=True)


def run(begin: Callable[[str, str, Any], Send]) -> None:
    """Do the tasks that the command line names; `begin` gets a base URL, a model and the schema of
    the tool.
    """
    asyncio.run(_tasks(begin, *sys.argv[1:]))
