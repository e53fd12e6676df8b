"""Code that the server runs: items and events of calls, their outputs, and the files that they read
and create.

Each case has its own container, which expires automatically.
"""

from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.containers import UNKNOWN, add_file, create
from antiphon_verify.areas.responses.files import upload
from antiphon_verify.case import case
from antiphon_verify.code import (
    AUTO,
    DRAWING,
    FACT,
    LINK,
    OUTPUTS,
    PRINTING,
    RAISING,
    READING,
    SHELL,
    VALUED,
    WRITING,
    Item,
    calls,
    calls_of,
    citations_of,
    is_output,
    is_whole,
    logs_of,
    outputs_of,
    run,
)
from antiphon_verify.reading import at, is_integer, is_text, listed, preview
from antiphon_verify.replies import error
from antiphon_verify.replies.bodies import MESSAGE
from antiphon_verify.replies.responses import code_interpreter as replies
from antiphon_verify.replies.responses.containers import ADDED, CREATED, REMOVED
from antiphon_verify.replies.responses.files import DELETED, UPLOADED
from antiphon_verify.requirement import Stop, capability, must, should
from antiphon_verify.samples import spelled
from antiphon_verify.trial import Steps, Trial

PREFIX = "response.code_interpreter_call"

STEPS = [
    "added",
    ".in_progress",
    "_code.delta",
    "_code.done",
    ".interpreting",
    ".completed",
    "done",
]
"""Events of a call in their order; consecutive deltas count once."""


@case(
    must(
        "responses:code-interpreter:item",
        "spec 5",
        "A call is a completed `code_interpreter_call` with its code and the id of its container.",
        fault=replies.streamed(replies.CALL | {"container_id": None}),
    ),
    must(
        "responses:code-interpreter:order",
        "spec 16",
        "The events of a call are: item added, in progress, code delta, code done, interpreting, "
        "completed, item done.",
        fault=replies.streamed(deltas=[]),
    ),
    must(
        "responses:code-interpreter:code",
        "spec 4",
        "The code deltas join into the code of the `done` event, which equals the code of the item.",  # noqa: E501 - one text, or a row of a table
        fault=replies.streamed(deltas=replies.DELTAS[:1]),
    ),
    should(
        "responses:code-interpreter:opened",
        "spec 4",
        "A call starts as `in_progress`, with empty code and the container in which it will run.",
        fault=replies.streamed(opened=replies.OPENED | {"container_id": "cntr_2"}),
    ),
    must(
        "responses:code-interpreter:goes-on",
        "spec 16",
        "After its calls a response continues with a message.",
        fault=replies.streamed(replies.CALL, MESSAGE, replies.CALL | {"id": "ci_2"}),
    ),
    should(
        "responses:code-interpreter:outputs-unasked",
        "spec 10",
        "Without `code_interpreter_call.outputs` in `include` the outputs of a call are null.",
        fault=replies.streamed(replies.CALL | {"outputs": replies.logs("verify 42\n")}),
    ),
    good=replies.streamed(),
)
def code_is_run(trial: Trial) -> Steps:
    """Run code in a stream."""
    exchange = yield from run(trial, PRINTING, stream=True)
    events = trial.streamed(exchange)
    trial.offered(exchange)
    response = at(events, -1, "response")
    found = calls_of(response)
    trial.expect("responses:code-interpreter:item", all(map(is_whole, found)), found)
    kinds = [at(item, "type") for item in listed(response, "output")]
    is_completed = at(response, "status") == "completed" and kinds[-1] == "message"
    trial.expect("responses:code-interpreter:goes-on", is_completed, kinds)
    trial.expect("responses:code-interpreter:outputs-unasked", not outputs_of(found), found)
    for item in found:
        _judge_events(trial, item, [one for one in events if _is_about(one, at(item, "id"))])


def _is_about(event: Any, id: Any) -> bool:
    return id in (at(event, "item_id"), at(event, "item", "id"))


def _judge_events(trial: Trial, item: Item, events: list[Any]) -> None:
    """Judge the events of one call."""
    types = [str(at(event, "type")) for event in events]
    words = [one.removeprefix("response.output_item.").removeprefix(PREFIX) for one in types]
    steps = [word for place, word in enumerate(words) if words[max(place - 1, 0) : place] != [word]]
    trial.expect("responses:code-interpreter:order", steps == STEPS, steps)
    deltas = "".join(
        str(at(one, "delta")) for one in events if at(one, "type") == f"{PREFIX}_code.delta"
    )
    whole = [at(one, "code") for one in events if at(one, "type") == f"{PREFIX}_code.done"]
    is_same = [deltas, *whole] == [at(item, "code")] * 2
    trial.expect("responses:code-interpreter:code", is_same, [deltas, *whole])
    opened = at(events, 0, "item")
    is_open = (at(opened, "status"), at(opened, "code")) == ("in_progress", "")
    is_placed = is_text(at(opened, "container_id")) and at(opened, "container_id") == at(
        item, "container_id"
    )
    trial.expect("responses:code-interpreter:opened", is_open and is_placed, opened)


@case(
    must(
        "responses:code-interpreter:outputs",
        "spec 5",
        "With the `include`, outputs are a list of `logs` with a text and `image` with a URL.",
        fault=[replies.with_output(replies.VALUED | {"outputs": [{"type": "logs"}]})],
    ),
    must(
        "responses:code-interpreter:printed",
        "spec 5",
        "The `logs` of a call contain what the code prints.",
        fault=[replies.with_output(replies.VALUED | {"outputs": replies.logs("42")})],
    ),
    should(
        "responses:code-interpreter:value",
        "spec 5",
        "Printed text is one `logs` output, followed by another with the value "
        "of the last expression.",
        fault=[replies.with_output(replies.VALUED | {"outputs": replies.logs("P1\nP2\n42")})],
    ),
    should(
        "responses:code-interpreter:outputs-later",
        "spec 10",
        "A GET with the `include` shows the outputs of a stored call, and a GET without "
        "it does not.",
        fault=[replies.with_output(replies.VALUED), replies.HIDDEN, replies.HIDDEN, replies.HIDDEN],
    ),
    good=[replies.with_output(replies.VALUED), replies.HIDDEN, replies.HIDDEN, replies.LATER],
)
def outputs_are_included(trial: Trial) -> Steps:
    """Run code, and include the outputs, at once and later."""
    exchange = yield from run(trial, VALUED, include=OUTPUTS)
    found = calls(trial, exchange)
    outputs = outputs_of(found)
    trial.expect(
        "responses:code-interpreter:outputs", bool(outputs) and all(map(is_output, outputs)), found
    )
    if VALUED in [str(at(item, "code")).strip() for item in found]:
        trial.expect("responses:code-interpreter:printed", "P1\nP2" in logs_of(found), outputs)
        texts = [str(at(one, "logs")).strip() for one in outputs]
        trial.expect("responses:code-interpreter:value", texts == ["P1\nP2", "42"], outputs)
    hidden = yield from run(trial, PRINTING)
    calls(trial, hidden)
    place = f"/responses/{id_of(hidden.json)}"
    without = yield from trial.get(place)
    later = yield from trial.get(f"{place}?include[]=code_interpreter_call.outputs")
    is_included = bool(outputs_of(calls(trial, later))) and not outputs_of(calls(trial, without))
    trial.expect("responses:code-interpreter:outputs-later", is_included, later.came)


@case(
    should(
        "responses:code-interpreter:exception",
        "spec 5",
        "A call of code that raises an exception is completed; its `logs` have the printed text "
        "and the traceback.",
        fault=[replies.with_output(replies.RAISED | {"outputs": replies.logs("before\n")})],
    ),
    good=[replies.with_output(replies.RAISED)],
)
def code_raises_an_exception(trial: Trial) -> Steps:
    """Run code that prints and then divides by zero."""
    exchange = yield from run(trial, RAISING, include=OUTPUTS)
    found = calls(trial, exchange)
    if RAISING not in [str(at(item, "code")).strip() for item in found]:
        raise Stop("skipped", "Different code was run.")
    logs = logs_of(found)
    is_included = (
        "before" in logs and "ZeroDivisionError" in logs and at(found, 0, "status") == "completed"
    )
    trial.expect("responses:code-interpreter:exception", is_included, found)


@case(
    must(
        "responses:code-interpreter:one-container",
        "spec 6",
        "All calls of a response run in the same container.",
        fault=[
            replies.with_output(replies.FIRST, replies.SECOND | {"container_id": "cntr_2"}),
            replies.with_output(replies.CALL),
        ],
    ),
    should(
        "responses:code-interpreter:state",
        "spec 6",
        "A call can use the variables of earlier calls.",
        fault=[
            replies.with_output(
                replies.FIRST, replies.SECOND | {"outputs": replies.logs("NameError")}
            ),
            replies.with_output(replies.CALL),
        ],
    ),
    should(
        "responses:code-interpreter:auto-again",
        "spec 6",
        "With `auto`, the next turn runs its code in the container of the latest call.",
        fault=[
            replies.with_output(replies.FIRST, replies.SECOND),
            replies.with_output(replies.ELSEWHERE),
        ],
    ),
    good=[replies.with_output(replies.FIRST, replies.SECOND), replies.with_output(replies.CALL)],
)
def code_continues(trial: Trial) -> Steps:
    """Run two programs in a response and a third one in the next, each using a variable of the
    first.
    """
    first = yield from run(trial, "x = 41", "print(x + 1)", include=OUTPUTS)
    found = calls(trial, first)
    if len(found) < 2:
        raise Stop("skipped", "The model made a single call.")
    ids = {at(item, "container_id") for item in found}
    trial.expect("responses:code-interpreter:one-container", len(ids) == 1, sorted(map(str, ids)))
    trial.expect("responses:code-interpreter:state", "42" in logs_of(found), outputs_of(found))
    then = yield from run(
        trial, "print(x + 2)", include=OUTPUTS, previous_response_id=id_of(first.json)
    )
    again = {at(item, "container_id") for item in calls(trial, then)}
    trial.expect("responses:code-interpreter:auto-again", again == ids, sorted(map(str, again)))


@case(
    must(
        "responses:code-interpreter:made-file",
        "spec 6",
        "A file written by code is a file of the container with the source `assistant`, "
        "and can be downloaded.",
        fault=[
            replies.citing(),
            replies.WRITTEN.patched("data", 0, "source", to="user"),
            replies.BYTES,
        ],
    ),
    capability(
        should(
            "responses:code-interpreter:cited",
            "spec 16",
            "The model's answer links to the file that the code created.",
            fault=[replies.with_output(replies.CALL), replies.WRITTEN, replies.BYTES],
        )
    ),
    must(
        "responses:code-interpreter:citation",
        "spec 5",
        "A file citation has the container, id and filename, and spans the `sandbox:` path "
        "in the text.",
        fault=[replies.citing(start_index=0), replies.WRITTEN, replies.BYTES],
    ),
    good=[replies.citing(), replies.WRITTEN, replies.BYTES],
)
def code_writes_a_file(trial: Trial) -> Steps:
    """Run code that writes a file, and download the file."""
    exchange = yield from run(
        trial, WRITING, words=f"Then link to the file as [verify.txt]({LINK})."
    )
    path = f"/containers/{at(calls(trial, exchange), 0, 'container_id')}/files"
    page = yield from trial.get(path)
    trial.supported(page)
    created = [
        one for one in listed(page.json, "data") if str(at(one, "path")).endswith("verify.txt")
    ]
    content = yield from trial.get(f"{path}/{at(created, 0, 'id')}/content")
    is_created = (
        at(created, 0, "source") == "assistant"
        and content.is_ok
        and content.body == b"made by code"
    )
    trial.expect(
        "responses:code-interpreter:made-file", is_created, f"{page.came}; then {content.came}"
    )
    cited = citations_of(exchange.json)
    trial.expect(
        "responses:code-interpreter:cited",
        bool(cited),
        preview(listed(exchange.json, "output")[-1:]),
    )
    if cited:
        wrong = [one for one, text in cited if not _is_citation(one, text, created)]
        trial.expect("responses:code-interpreter:citation", not wrong, wrong)


def _is_citation(annotation: Any, text: str, created: list[Any]) -> bool:
    """Whether a citation names the file that was created, and spans the link to it."""
    first = at(annotation, "start_index")
    last = at(annotation, "end_index")
    is_named = at(annotation, "filename") == "verify.txt" and at(annotation, "file_id") == at(
        created, 0, "id"
    )
    is_placed = is_integer(first) and is_integer(last) and text[first:last] == LINK
    return is_named and is_placed and is_text(at(annotation, "container_id"))


@case(
    should(
        "responses:code-interpreter:figure",
        "spec 5",
        "A plot that the code shows is an `image` output with the URL of an image.",
        fault=[replies.CITED.patched("output", 0, to=replies.CALL | {"outputs": []})],
    ),
    should(
        "responses:code-interpreter:figure-cited",
        "spec 5",
        "A plot that the code shows is cited as a PNG file of the container.",
        fault=[replies.with_output(replies.DRAWN)],
    ),
    good=[replies.CITED],
)
def code_shows_a_figure(trial: Trial) -> Steps:
    """Run code that draws a figure with matplotlib."""
    exchange = yield from run(trial, DRAWING, include=OUTPUTS)
    found = calls(trial, exchange)
    if "ModuleNotFoundError" in logs_of(found):
        raise Stop("skipped", "The server's Python has no matplotlib.")
    urls = [str(at(one, "url")) for one in outputs_of(found) if at(one, "type") == "image"]
    is_image = bool(urls) and all(
        one.startswith(("data:image/", "https://", "http://")) for one in urls
    )
    trial.expect("responses:code-interpreter:figure", is_image, outputs_of(found))
    names = [str(at(one, "filename")) for one, _ in citations_of(exchange.json)]
    trial.expect(
        "responses:code-interpreter:figure-cited", any(one.endswith(".png") for one in names), names
    )


@case(
    must(
        "responses:code-interpreter:by-id",
        "spec 6",
        "Code runs in the container that the tool names by id, with the files uploaded to it.",
        fault=[CREATED, ADDED, replies.with_output(replies.UNREAD), REMOVED, replies.with_output()],
    ),
    should(
        "responses:code-interpreter:container-gone",
        "issue pydantic-ai#7461",
        "A conversation with calls in a deleted container can continue.",
        fault=[
            *(CREATED, ADDED, replies.with_output(replies.READ), REMOVED),
            error("Expected container_id: cntr_1"),
        ],
    ),
    good=[CREATED, ADDED, replies.with_output(replies.READ), REMOVED, replies.with_output()],
)
def code_runs_in_a_named_container(trial: Trial) -> Steps:
    """Run code that reads a file in a container by its id, delete the container, and continue the
    conversation.
    """
    created, path = yield from create(trial)
    trial.succeed((yield from add_file(trial, path, FACT.encode())))
    tool = AUTO | {"container": id_of(created.json)}
    exchange = yield from run(trial, READING, tool=tool, include=OUTPUTS)
    found = calls(trial, exchange)
    is_there = all(
        at(item, "container_id") == id_of(created.json) for item in found
    ) and FACT in logs_of(found)
    trial.expect("responses:code-interpreter:by-id", is_there, found)
    yield from trial.delete(path)
    history = [
        {"role": "user", "content": READING},
        *exchange.json["output"],
        {"role": "user", "content": "Thanks."},
    ]
    after = yield from trial.respond(history, tools=[AUTO])
    trial.understood(after)
    is_well = after.is_ok and at(after.json, "status") == "completed"
    trial.expect("responses:code-interpreter:container-gone", is_well, after.came)


@case(
    should(
        "responses:code-interpreter:auto-files",
        "spec 6",
        "The `file_ids` of an `auto` container are files in its `/mnt/data`.",
        fault=[UPLOADED, replies.with_output(replies.UNREAD), DELETED],
    ),
    good=[UPLOADED, replies.with_output(replies.READ), DELETED],
)
def an_auto_container_has_files(trial: Trial) -> Steps:
    """Run code that reads a stored file that the tool names."""
    stored = yield from upload(trial, "user_data", FACT.encode())
    trial.succeed(stored)
    tool = AUTO | {"container": {"type": "auto", "file_ids": [id_of(stored.json)]}}
    exchange = yield from run(trial, READING, tool=tool, include=OUTPUTS)
    found = calls(trial, exchange)
    trial.expect("responses:code-interpreter:auto-files", FACT in logs_of(found), outputs_of(found))
    yield from trial.delete(f"/files/{id_of(stored.json)}")


@case(
    should(
        "responses:code-interpreter:echoed",
        "spec 6",
        "The tool is echoed with its container.",
        fault=[replies.with_output(tools=[]), replies.REJECTED, replies.LIMITED],
    ),
    must(
        "responses:code-interpreter:unknown-container",
        "spec 13",
        "An unknown container is rejected with a 4xx.",
        fault=[replies.ECHO, replies.ECHO, replies.LIMITED],
    ),
    should(
        "responses:code-interpreter:memory-limit",
        "spec 13",
        "An unknown `memory_limit` is rejected with a 4xx.",
        fault=[replies.ECHO, replies.REJECTED, replies.ECHO],
    ),
    good=[replies.ECHO, replies.REJECTED, replies.LIMITED],
)
def a_code_interpreter_is_offered(trial: Trial) -> Steps:
    """Offer the tool correctly, in an unknown container, and with an unknown memory limit."""
    plain = yield from trial.respond("Say hello.", tools=[AUTO])
    trial.offered(plain)
    echoed = at(plain.json, "tools", 0)
    trial.expect(
        "responses:code-interpreter:echoed",
        at(echoed, "container", "type") == "auto",
        preview(echoed),
    )
    unknown = yield from trial.respond("Say hello.", tools=[AUTO | {"container": UNKNOWN}])
    trial.expect(
        "responses:code-interpreter:unknown-container", 400 <= unknown.status < 500, unknown.came
    )
    large = {"type": "auto", "memory_limit": "3g"}
    refused = yield from trial.respond("Say hello.", tools=[AUTO | {"container": large}])
    trial.expect(
        "responses:code-interpreter:memory-limit", 400 <= refused.status < 500, refused.came
    )


@case(
    should(
        "responses:code-interpreter:chosen",
        "spec 6",
        "With a `tool_choice` of `code_interpreter` the model makes a call.",
        fault=[replies.with_output()],
    ),
    good=[replies.with_output(replies.CALL)],
)
def a_call_is_demanded(trial: Trial) -> Steps:
    """Force a call of the code interpreter."""
    exchange = yield from run(trial, PRINTING, tool_choice={"type": "code_interpreter"})
    trial.offered(exchange)
    kinds = [at(item, "type") for item in listed(trial.response(exchange), "output")]
    trial.expect("responses:code-interpreter:chosen", "code_interpreter_call" in kinds, kinds)


@case(
    should(
        "responses:code-interpreter:shell",
        "spec 6",
        "A `shell` tool with the environment `container_auto` runs: a `shell_call`, then its "
        "`shell_call_output`.",
        fault=[replies.with_output(replies.COMMAND)],
    ),
    good=[replies.with_output(replies.COMMAND, replies.PRINTED)],
)
def commands_run_in_a_container(trial: Trial) -> Steps:
    """Run a command in a container of the server."""
    prompt = spelled(
        "Run the command `echo tide` in your shell.", 'shell {"commands": ["echo tide"]}'
    )
    exchange = yield from trial.respond(prompt, tools=[SHELL])
    trial.offered(exchange)
    items = listed(trial.response(exchange), "output")
    created = [item for item in items if at(item, "type") == "shell_call"]
    if not created:
        raise Stop("skipped", "No command was run.")
    outputs = [item for item in items if at(item, "type") == "shell_call_output"]
    is_run = "tide" in str(at(outputs, 0, "output", 0, "stdout"))
    is_well = at(outputs, 0, "output", 0, "outcome") == {"type": "exit", "exit_code": 0}
    is_whole = at(outputs, 0, "call_id") == at(created, 0, "call_id") and is_run and is_well
    trial.expect("responses:code-interpreter:shell", is_whole, preview(items))
