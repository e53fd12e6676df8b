"""Code that the server runs."""

from typing import Any

from antiphon_verify import code
from antiphon_verify.replies import Reply, error, states, streams
from antiphon_verify.replies.bodies import MESSAGE, RESPONSE
from antiphon_verify.replies.responses.containers import FILE as CONTAINER_FILE

Item = dict[str, Any]

CALL: Item = {
    "id": "ci_1",
    "type": "code_interpreter_call",
    "status": "completed",
    "code": code.PRINTING,
    "container_id": "cntr_1",
    "outputs": None,
}
OPENED = CALL | {"status": "in_progress", "code": ""}


def logs(*texts: str) -> list[Item]:
    """Return outputs with these logs."""
    return [{"type": "logs", "logs": text} for text in texts]


def with_output(*items: Item, **fields: Any) -> Reply:
    """Return a response with these items and a message."""
    return states(RESPONSE | {"output": [*items, MESSAGE], **fields})


def event(name: str, **fields: Any) -> Item:
    """Return an event of the call."""
    return {
        "type": f"response.code_interpreter_call{name}",
        "output_index": 0,
        "item_id": "ci_1",
        **fields,
    }


DELTAS = [
    event("_code.delta", delta=code.PRINTING[:5]),
    event("_code.delta", delta=code.PRINTING[5:]),
]


def streamed(
    call: Item = CALL, *rest: Item, opened: Item = OPENED, deltas: list[Item] = DELTAS
) -> list[Reply]:
    """Return the stream of a response with a call and the rest of its output."""
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        *(event(".in_progress"), *deltas, event("_code.done", code=code.PRINTING)),
        *(event(".interpreting"), event(".completed")),
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {
            "type": "response.completed",
            "response": RESPONSE | {"output": [call, *(rest or (MESSAGE,))]},
        },
    ]
    return [streams(events)]


VALUED = CALL | {"code": code.VALUED, "outputs": logs("P1\nP2\n", "42")}
HIDDEN = with_output(CALL)
LATER = with_output(CALL | {"outputs": logs("verify 42\n")})

RAISED = CALL | {
    "code": code.RAISING,
    "outputs": logs("before\nTraceback …\nZeroDivisionError: division by zero\n"),
}

FIRST = CALL | {"code": "x = 41", "outputs": []}
SECOND = CALL | {"id": "ci_2", "code": "print(x + 1)", "outputs": logs("42\n")}
ELSEWHERE = CALL | {"container_id": "cntr_2"}

TEXT = f"Here it is: [verify.txt]({code.LINK})"
CITATION: Item = {
    "type": "container_file_citation",
    "container_id": "cntr_1",
    "file_id": "cfile_1",
    "filename": "verify.txt",
    "start_index": TEXT.index(code.LINK),
    "end_index": TEXT.index(code.LINK) + len(code.LINK),
}


def citing(**fields: Any) -> Reply:
    """Return a response that cites the file."""
    part = {"type": "output_text", "text": TEXT, "annotations": [CITATION | fields], "logprobs": []}
    return states(RESPONSE | {"output": [CALL, MESSAGE | {"content": [part]}]})


WRITTEN = states(
    {
        "object": "list",
        "data": [CONTAINER_FILE | {"path": "/mnt/data/verify.txt", "source": "assistant"}],
    }
)
BYTES = Reply(200, b"made by code")

IMAGE = {"type": "image", "url": "data:image/png;base64,iVBORw0KGgo="}
DRAWN = CALL | {"outputs": [IMAGE]}
CITED = citing(filename="cfile_1.png", start_index=0, end_index=0).patched("output", 0, to=DRAWN)

READ = CALL | {"code": code.READING, "outputs": logs(f"{code.FACT}\n")}
UNREAD = READ | {"outputs": []}

COMMAND: Item = {
    "id": "sh_1",
    "type": "shell_call",
    "call_id": "call_1",
    "action": {"commands": ["echo tide"]},
}
PRINTED: Item = {
    "id": "sho_1",
    "type": "shell_call_output",
    "call_id": "call_1",
    "output": [{"stdout": "tide\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
}

ECHO = with_output(tools=[code.AUTO])
REJECTED = error("Container not found.", 404)
LIMITED = error("Invalid value: '3g'.", 400, "invalid_value", "tools[0].container.memory_limit")
