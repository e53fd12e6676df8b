"""Code that the server runs."""

from typing import Any

from antiphon_verify.areas.responses import code_interpreter as code
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import MESSAGE, RESPONSE
from tests.unit.conformance.exchanges.responses.containers import ADDED, CREATED, REMOVED
from tests.unit.conformance.exchanges.responses.containers import FILE as CONTAINER_FILE
from tests.unit.conformance.exchanges.responses.files import DELETED, MADE

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
    return [{"type": "logs", "logs": text} for text in texts]


def gave(*items: Item, **fields: Any) -> Answer:
    return says(RESPONSE | {"output": [*items, MESSAGE], **fields})


def event(name: str, **fields: Any) -> Item:
    return {"type": f"response.code_interpreter_call{name}", "output_index": 0, "item_id": "ci_1", **fields}


DELTAS = [event("_code.delta", delta=code.PRINTING[:5]), event("_code.delta", delta=code.PRINTING[5:])]


def streamed(call: Item = CALL, *rest: Item, opened: Item = OPENED, deltas: list[Item] = DELTAS) -> list[Answer]:
    """The stream of a response with a call and the rest of its output."""
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        *(event(".in_progress"), *deltas, event("_code.done", code=code.PRINTING)),
        *(event(".interpreting"), event(".completed")),
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": RESPONSE | {"output": [call, *(rest or (MESSAGE,))]}},
    ]
    return [streams(events)]


VALUED = CALL | {"code": code.VALUED, "outputs": logs("P1\nP2\n", "42")}
HIDDEN = gave(CALL)
LATER = gave(CALL | {"outputs": logs("verify 42\n")})

RAISED = CALL | {"code": code.RAISING, "outputs": logs("before\nTraceback …\nZeroDivisionError: division by zero\n")}

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


def citing(**fields: Any) -> Answer:
    part = {"type": "output_text", "text": TEXT, "annotations": [CITATION | fields], "logprobs": []}
    return says(RESPONSE | {"output": [CALL, MESSAGE | {"content": [part]}]})


WRITTEN = says({"object": "list", "data": [CONTAINER_FILE | {"path": "/mnt/data/verify.txt", "source": "assistant"}]})
BYTES = Answer(200, b"made by code")

IMAGE = {"type": "image", "url": "data:image/png;base64,iVBORw0KGgo="}
DRAWN = CALL | {"outputs": [IMAGE]}
SHOWN = citing(filename="cfile_1.png", start_index=0, end_index=0).patched("output", 0, to=DRAWN)

READ = CALL | {"code": code.READING, "outputs": logs(f"{code.FACT}\n")}
UNREAD = READ | {"outputs": []}

COMMAND: Item = {"id": "sh_1", "type": "shell_call", "call_id": "call_1", "action": {"commands": ["echo tide"]}}
PRINTED: Item = {
    "id": "sho_1",
    "type": "shell_call_output",
    "call_id": "call_1",
    "output": [{"stdout": "tide\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
}

ECHO = gave(tools=[code.AUTO])
REFUSED = error("Container not found.", 404)
LIMITED = error("Invalid value: '3g'.", 400, "invalid_value", "tools[0].container.memory_limit")


EXCHANGES: dict[str, Shown] = {
    **shown(
        code.code_is_run,
        streamed(),
        {
            "responses:code-interpreter:item": streamed(CALL | {"container_id": None}),
            "responses:code-interpreter:order": streamed(deltas=[]),
            "responses:code-interpreter:code": streamed(deltas=DELTAS[:1]),
            "responses:code-interpreter:opened": streamed(opened=OPENED | {"container_id": "cntr_2"}),
            "responses:code-interpreter:goes-on": streamed(CALL, MESSAGE, CALL | {"id": "ci_2"}),
            "responses:code-interpreter:outputs-unasked": streamed(CALL | {"outputs": logs("verify 42\n")}),
        },
    ),
    **shown(
        code.outputs_are_included,
        [gave(VALUED), HIDDEN, HIDDEN, LATER],
        {
            "responses:code-interpreter:outputs": [gave(VALUED | {"outputs": [{"type": "logs"}]})],
            "responses:code-interpreter:printed": [gave(VALUED | {"outputs": logs("42")})],
            "responses:code-interpreter:value": [gave(VALUED | {"outputs": logs("P1\nP2\n42")})],
            "responses:code-interpreter:outputs-later": [gave(VALUED), HIDDEN, HIDDEN, HIDDEN],
        },
    ),
    **spoiled(code.code_raises_an_exception, [gave(RAISED)], [gave(RAISED | {"outputs": logs("before\n")})]),
    **shown(
        code.code_continues,
        [gave(FIRST, SECOND), gave(CALL)],
        {
            "responses:code-interpreter:one-container": [gave(FIRST, SECOND | {"container_id": "cntr_2"}), gave(CALL)],
            "responses:code-interpreter:state": [gave(FIRST, SECOND | {"outputs": logs("NameError")}), gave(CALL)],
            "responses:code-interpreter:auto-again": [gave(FIRST, SECOND), gave(ELSEWHERE)],
        },
    ),
    **shown(
        code.code_writes_a_file,
        [citing(), WRITTEN, BYTES],
        {
            "responses:code-interpreter:made-file": [citing(), WRITTEN.patched("data", 0, "source", to="user"), BYTES],
            "responses:code-interpreter:cited": [gave(CALL), WRITTEN, BYTES],
            "responses:code-interpreter:citation": [citing(start_index=0), WRITTEN, BYTES],
        },
    ),
    **shown(
        code.code_shows_a_figure,
        [SHOWN],
        {
            "responses:code-interpreter:figure": [SHOWN.patched("output", 0, to=CALL | {"outputs": []})],
            "responses:code-interpreter:figure-cited": [gave(DRAWN)],
        },
    ),
    **shown(
        code.code_runs_in_a_named_container,
        [CREATED, ADDED, gave(READ), REMOVED, gave()],
        {
            "responses:code-interpreter:by-id": [CREATED, ADDED, gave(UNREAD), REMOVED, gave()],
            "responses:code-interpreter:container-gone": [
                *(CREATED, ADDED, gave(READ), REMOVED),
                error("Expected container_id: cntr_1"),
            ],
        },
    ),
    **spoiled(code.an_auto_container_has_files, [MADE, gave(READ), DELETED], [MADE, gave(UNREAD), DELETED]),
    **shown(
        code.a_code_interpreter_is_offered,
        [ECHO, REFUSED, LIMITED],
        {
            "responses:code-interpreter:echoed": [gave(tools=[]), REFUSED, LIMITED],
            "responses:code-interpreter:unknown-container": [ECHO, ECHO, LIMITED],
            "responses:code-interpreter:memory-limit": [ECHO, REFUSED, ECHO],
        },
    ),
    **spoiled(code.commands_run_in_a_container, [gave(COMMAND, PRINTED)], [gave(COMMAND)]),
    **spoiled(code.a_call_is_demanded, [gave(CALL)], [gave()]),
}
