"""A model that runs what its user says, and real machines to run it in, where bubblewrap works."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest

from antiphon.config import Settings
from antiphon.sandbox.bubblewrap import Bubblewrap
from tests.support.parts import Chunks, called, stated
from tests.support.replay import JSON, Answer, completion, sse

AUTO: Any = {"type": "code_interpreter", "container": {"type": "auto"}}
SHELL: Any = {"type": "shell", "environment": {"type": "container_auto"}}
OUTPUTS: Any = ["code_interpreter_call.outputs"]


@cache
def problem() -> str:
    """Why no machine runs here; empty where they run."""
    with ThreadPoolExecutor(1) as thread:  # whose loop is none of the test's
        return thread.submit(lambda: asyncio.run(Bubblewrap().probe())).result()


def skip_without_machines() -> None:
    """Skip a test where no machine runs, with the reason."""
    if reason := problem():
        pytest.skip(f"bubblewrap: {reason}")


def settings(**code: Any) -> Settings:
    """Settings of a server that runs code."""
    return Settings(code_sandbox="bubblewrap", **code)


def coder(request: dict[str, Any]) -> Chunks:
    """Run what the user says as code, and say what came of it."""
    last = request["messages"][-1]
    names = [tool["function"]["name"] for tool in request.get("tools") or ()]
    if last["role"] != "user" or not names:
        return stated("Done.")
    if "shell" in names:
        return called("shell", json.dumps({"commands": last["content"].split(" && ")}))
    return called("code_interpreter", json.dumps({"code": last["content"]}))


def coding(request: dict[str, Any]) -> Answer:
    """The same, as a backend over HTTP answers."""
    chunks = coder(request)
    if request.get("stream"):
        return Answer([sse(*chunks)])
    delta = chunks[0]["choices"][0]["delta"]
    calls = [
        {name: value for name, value in call.items() if name != "index"}
        for call in delta.get("tool_calls", ())
    ]
    return Answer(
        [completion(None, tool_calls=calls) if calls else completion(delta["content"])], JSON
    )


def logs(response: Any) -> list[str]:
    """What the calls of a response printed, and their values."""
    calls = (item for item in response.output if item.type == "code_interpreter_call")
    return [one.logs for call in calls for one in call.outputs or () if one.type == "logs"]


def container_of(response: Any) -> str:
    """The container of the calls of a response."""
    (container_id,) = {
        item.container_id for item in response.output if item.type == "code_interpreter_call"
    }
    return str(container_id)
