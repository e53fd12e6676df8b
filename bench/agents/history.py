"""The items of an agent's input, as Codex sends them: all of them again in every request of a
conversation.
"""

import itertools
import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import Any

from antiphon.access.keyring import Keyring
from bench.agents.texts import printed, prose

MARK = "00c0ffee"
"""Stands for the number of the conversation, in the id of every item and in each text except the
instructions: two conversations share instructions and tools, as those of one client do, and nothing
else.
"""

KEY = sha256(b"bench").digest()
SEAL_KEYS = b64encode(KEY).decode()
"""The setting `seal_keys` of a server that can open the reasoning here."""

OUTPUT = 1_200
"""Characters of a call's output in the mean, in the recorded sessions."""

LARGE_OUTPUT = 7_200
"""The same where an agent reads files: 400 items become 1 MB."""

_SIZES = (0.1, 0.3, 0.6, 3.0)
"""How long the outputs of calls are, one after the other, in their mean."""

Item = dict[str, Any]


def opening() -> list[Item]:
    """Return the four messages of a first request: instructions, permissions, the environment, and
    the task.
    """
    return [
        _message("developer", 0, prose(21_299, 1)),
        _message("developer", 1, prose(4_674, 2), prose(499, 3), prose(104, 4)),
        _message("user", 2, f"{MARK}: {printed(850, 5)}"),
        _message("user", 3, f"{MARK}: {prose(300, 6)}"),
    ]


def history(count: int, output: int = OUTPUT) -> list[Item]:
    """Return the first so many items of a conversation.

    Every call has its output; messages fill the rest.
    """
    items = opening()
    for step in itertools.count():
        unit = _step(step, output)
        if len(items) + len(unit) > count:
            break
        items += unit
    return items + [_note(100_000 + number) for number in range(count - len(items))]


def turn(number: int, output: int = OUTPUT) -> list[Item]:
    """Return the two items that a later request adds: a call and its output."""
    return _call(100_000 + number, output)


def _step(step: int, output: int) -> list[Item]:
    """Return reasoning, a call and its output; each third step has a message before it."""
    size = int(output * _SIZES[step % len(_SIZES)])
    call = _patch(step) if step % 5 == 4 else _call(step, size)
    return [*([_note(step)] if step % 3 == 2 else []), _reasoning(step), *call]


def _message(role: str, number: int, *texts: str) -> Item:
    parts = [{"type": "input_text", "text": text} for text in texts]
    return {"type": "message", "id": _id("msg", number), "role": role, "content": parts}


def _note(number: int) -> Item:
    part = {"type": "output_text", "text": f"{MARK}: {prose(240, number)}"}
    item = {
        "type": "message",
        "id": _id("msg", 1_000 + number),
        "role": "assistant",
        "phase": "commentary",
    }
    return {**item, "content": [part]}


def _reasoning(step: int) -> Item:
    summary = [{"type": "summary_text", "text": f"{MARK}: {prose(150, step)}"}]
    item = {"type": "reasoning", "id": _id("rs", step), "summary": summary, "content": None}
    return {**item, "encrypted_content": _sealed(step)}


def _call(step: int, size: int) -> list[Item]:
    body = {
        "cmd": f"sed -n '1,{step}p' src/{MARK}/{prose(30, step)}.py",
        "workdir": "/home/user/project",
    }
    call = {
        "type": "function_call",
        "status": "completed",
        "id": _id("fc", step),
        "name": "exec_command",
    }
    text = (
        f"Wall time: 0.{step % 10} seconds\nExit code: 0\nConversation: "
        f"{MARK}\nOutput:\n{printed(size, step)}"
    )
    output = {
        "type": "function_call_output",
        "id": _id("fco", step),
        "call_id": f"call_{MARK}{step:016x}",
    }
    return [
        {**call, "arguments": json.dumps(body), "call_id": output["call_id"]},
        {**output, "output": text},
    ]


def _patch(step: int) -> list[Item]:
    patch = (
        "*** Begin\n*** Edit: "
        f"src/{MARK}.py\n@@\n-{printed(300, step)}\n+{printed(300, step + 1)}\n*** End\n"
    )
    call = {
        "type": "custom_tool_call",
        "id": _id("ctc", step),
        "status": "completed",
        "name": "apply_patch",
    }
    output = {
        "type": "custom_tool_call_output",
        "id": _id("ctco", step),
        "call_id": f"call_{MARK}{step:016x}",
    }
    return [
        {**call, "call_id": output["call_id"], "input": patch},
        {**output, "output": f"Changed src/{MARK}.py.\n"},
    ]


def _id(prefix: str, number: int) -> str:
    """Return an id as a client makes them, of the length of a UUID."""
    return f"{prefix}_{MARK}-0000-7000-8000-{number:012x}"


@cache
def _keyring() -> Keyring:
    return Keyring([KEY])


@cache
def _sealed(step: int) -> str:
    """Return the state of reasoning as the server has sealed it.

    Only its nonce is another in each process.
    """
    return _keyring().seal(
        {"family": "generic", "reasoning": {"reasoning_content": prose(600, step)}}, ""
    )
