"""Ten backends, each of another dialect, that refuse five kinds of requests at once and let clients
do a small task.

The model calls a tool, at first with arguments that break off, reads the result, and says what it
read.
"""

import itertools
import json
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.command import serving
from tests.support.refusing import (
    SEPARATOR,
    Refusal,
    RefusingBackend,
    Request,
    calls_in,
    forces_a_thinker,
    has_later_system,
    has_odd_arguments,
    has_odd_schema,
    has_unknown_result,
    lacks_signature,
    lacks_signed_id,
)
from tests.support.replay import JSON, Answer, sse
from tests.system.clients.model import Call, Turn, chunks, find, offered, plain

DIALECTS = (
    *("generic", "vllm", "lmstudio", "ollama", "moonshot"),
    *("deepseek", "alibaba", "openrouter", "gemini", "anthropic"),
)
"""One backend of each, whose only model has the dialect's name."""

SYSTEM_WORDS = {
    "moonshot": "invalid params, invalid chat setting (2013)",
    "alibaba": "Jinja Exception: System message must be at the beginning.",
}
SCHEMA_WORDS = {
    "deepseek": "Invalid schema for function 'tide': schema must be a JSON Schema of 'type: "
    '"object"\', '
    "got 'type: null'.",
    "lmstudio": '[{"code":"invalid_type","expected":"object","received":"undefined",'
    '"path":["tools",0,"function","parameters","properties"],"message":"Required"}]',
}
FORCED_WORDS = {
    "moonshot": "tool_choice 'required' is incompatible with thinking enabled",
    "alibaba": "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not "
    "support being set to "
    "required or object in thinking mode",
}
SIGNATURE_WORDS = "Function call is missing a thought_signature in functionCall parts."
SIGNED_IDS = ("anthropic", "generic")
"""The dialects of LiteLLM, which keeps Gemini's signature in the id of a call."""


def refusals(dialect: str) -> dict[str, Refusal]:
    """What the backend of a dialect refuses."""
    found = {
        "result": Refusal(
            has_unknown_result, "Invalid parameter: messages with role 'tool' must follow a call."
        ),
        "system": Refusal(
            has_later_system, SYSTEM_WORDS.get(dialect, "System message must be at the beginning.")
        ),
        "arguments": Refusal(
            has_odd_arguments, "invalid params, invalid function arguments json string (2013)"
        ),
        "schema": Refusal(
            has_odd_schema,
            SCHEMA_WORDS.get(
                dialect, 'tools.function.parameters.type is required and must be "object"'
            ),
        ),
        "forced": Refusal(
            forces_a_thinker(dialect),
            FORCED_WORDS.get(dialect, "Thinking mode does not support this tool_choice"),
        ),
    }
    if dialect in SIGNED_IDS:
        found["signature"] = Refusal(lacks_signed_id, f"litellm.BadRequestError: {SIGNATURE_WORDS}")
    if dialect == "gemini":
        found["signature"] = Refusal(lacks_signature, SIGNATURE_WORDS)
    return found


class Worker(RefusingBackend):
    """The backend of a dialect; its model works on one task at a time.

    It calls `tool`, first with broken arguments, until a result has `found` in it; then it says
    `found`.
    """

    def __init__(self, dialect: str) -> None:
        super().__init__(refusals(dialect), self._work)
        self.dialect = dialect
        self.models = [{"id": dialect, "object": "model", "created": 1, "owned_by": "test"}]
        self.tool = Call("tide", {"place": "Dover"})
        self.found = ""
        self.breaks = True
        self._numbers = itertools.count(1)

    def begin(self, tool: Call, found: str) -> None:
        """Give it a task, and forget the last."""
        self.tool = tool
        self.found = found
        self.breaks = True
        self.requests.clear()
        self.refused.clear()

    def _work(self, sent: Request) -> Answer:
        if any(
            self.found in json.dumps(message)
            for message in sent["messages"]
            if message["role"] == "tool"
        ):
            self.breaks = True
            return self._stated(sent, Turn(f"I read {self.found}."), [])
        function = find(offered(sent), self.tool)
        if function is None:
            return self._stated(sent, Turn("There is nothing to call."), [])
        arguments = json.dumps(self.tool.provided)
        if self.breaks:
            self.breaks = False
            arguments = arguments[:-4]
        return self._stated(sent, Turn(), [self._created(function["name"], arguments)])

    def _created(self, name: str, arguments: str) -> dict[str, Any]:
        number = next(self._numbers)
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        if self.dialect in SIGNED_IDS:
            call["id"] = f"call_{number}{SEPARATOR}" + "Cq" * 200
        if self.dialect == "gemini":
            call["extra_content"] = {"google": {"thought_signature": f"signature {number}"}}
        return call

    def _stated(self, sent: Request, turn: Turn, calls: list[dict[str, Any]]) -> Answer:
        turn = replace(
            turn, total_tokens=len(json.dumps(sent)) // 3 + 5
        )  # else it looks like a prompt that was cut
        if sent.get("stream"):
            return Answer([sse(*chunks(turn, calls))])
        return Answer([json.dumps(plain(turn, calls)).encode()], JSON)

    def check(self) -> None:
        """The last request was answered, each kind of refusal taught at once, and the client's
        words arrived.
        """
        assert self.requests, "nothing was asked"
        assert self.refused[-1] == "", self.refused
        seen = {name: self.refused.count(name) for name in self.refusals}
        assert all(count <= (2 if name == "forced" else 1) for name, count in seen.items()), seen
        assert calls_in(self.requests[-1])


@asynccontextmanager
async def ten_backends(home: Path) -> AsyncIterator[tuple[str, dict[str, Worker]]]:
    """The base URL of `antiphon serve` in front of them, and the backends by their dialect."""
    workers = {dialect: Worker(dialect) for dialect in DIALECTS}
    async with AsyncExitStack() as stack:
        tables = []
        for dialect, worker in workers.items():
            await stack.enter_async_context(worker.serve())
            tables.append(
                f'[[backends]]\nname = "{dialect}"\nurl = "{worker.url}"\ndialect = '
                f'"{dialect}"\napi = "chat"\n'
            )
        (home / "antiphon.toml").write_text("\n".join(tables))
        flags = ("--port", "0", "--store", f"sqlite:///{home}/antiphon.db")
        server = await stack.enter_async_context(serving(home, *flags))
        yield server.url, workers
        done = await server.stop(signal.SIGTERM)
    assert done.code == 0
    assert "Traceback" not in done.err
