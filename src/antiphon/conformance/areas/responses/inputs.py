"""What may stand in a request, each form sent once: it is taken, or it is not."""

import json
from typing import Any

from antiphon.conformance.areas.responses.file_inputs import PDF
from antiphon.conformance.areas.responses.text import messages_of
from antiphon.conformance.case import case
from antiphon.conformance.reading import at, is_text, shown
from antiphon.conformance.requirement import Stop, Table, capability, may, must, should
from antiphon.conformance.samples import CITY, TEA, WEATHER, is_taken, png, taken_by_responses
from antiphon.conformance.trial import Steps, Trial

TABLE: Table = (
    must("responses:inputs:string", "open-responses 1", "`input` may be a string."),
    must(
        "responses:inputs:messages", "client agents-sdk", "Messages of `role` and `content` without a `type` are taken."
    ),
    must("responses:inputs:typed-messages", "spec 5", "Messages with `type: message` are taken."),
    must("responses:inputs:parts", "spec 5", "A message's content may be a list of `input_text` parts."),
    must("responses:inputs:several-turns", "spec 5", "A history of user and assistant messages is taken."),
    must("responses:inputs:assistant-parts", "spec 5", "An assistant's content may be a list of `output_text` parts."),
    must("responses:inputs:system", "open-responses", "A message of the role `system` is taken."),
    must("responses:inputs:developer", "issue llama.cpp#20215", "A message of the role `developer` is taken."),
    should(
        "responses:inputs:system-in-the-middle", "issue sglang#40082", "A system message may stand in mid-conversation."
    ),
    should("responses:inputs:phase", "open-responses", "An assistant's message may have a `phase`."),
    must("responses:inputs:nulls", "client llama-index", "Optional parameters may be null."),
    must("responses:inputs:empty-lists", "client agents-sdk", "`tools` and `include` may be empty lists."),
    must("responses:inputs:call-and-output", "spec 5", "A call and its output in the history are taken."),
    should("responses:inputs:output-parts", "issue llama.cpp#23465", "A tool's output may be a list of parts."),
    must("responses:inputs:empty-output", "issue agents#3310", "A tool's output may be an empty string."),
    should("responses:inputs:null-fields", "issue openai-python#3008", "Fields that are null in an item are taken."),
    should(
        "responses:inputs:empty-reasoning", "issue llama.cpp#29159", "A reasoning item with nothing in it is taken."
    ),
    should("responses:inputs:item-reference", "spec 5", "A stored item may be referred to by its id."),
    capability(should("responses:inputs:image", "spec 5", "A message may hold an image as a data URL.")),
    capability(may("responses:inputs:file", "spec 5", "A message may hold a file as base64.")),
    must("responses:inputs:null-character", "spec 13", "A text may hold the character U+0000."),
    must("responses:inputs:any-script", "spec 13", "A text may be of any script, with emoji and marks of direction."),
    should(
        "responses:inputs:kept", "spec 3", "A text of any script comes back unchanged in `instructions` and `metadata`."
    ),
    may("responses:inputs:duplicate-keys", "spec 13", "Of two keys of one name in the body the last counts."),
    must("responses:inputs:odd-keys", "spec 13", "Metadata keys such as `__proto__` and `$ref` are plain data."),
    should("responses:inputs:schema-key", "client ai-sdk", "A tool's parameters may name their `$schema`."),
    should("responses:inputs:web-search-item", "spec 5", "A web search that ran elsewhere is taken."),
    should("responses:inputs:file-search-item", "spec 5", "A file search that ran elsewhere is taken."),
    should("responses:inputs:code-item", "spec 5", "A code interpreter's call that ran elsewhere is taken."),
    should("responses:inputs:mcp-items", "spec 5", "An MCP server's tools and a call that ran elsewhere are taken."),
    should("responses:inputs:configuration", "spec 5", "An item `configuration_update` is taken."),
    should("responses:inputs:client-ids", "client codex", "Input items may have ids that the client made."),
)


HELLO = {"role": "user", "content": "Say hello."}

ANSWER = {"role": "assistant", "content": "Hello."}

CALL = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Paris"}'}

OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "Sunny."}

REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_00000000000000000000000000000001", "summary": []}

NULLS = (
    *("include", "instructions", "metadata", "previous_response_id", "user", "temperature", "top_p", "reasoning"),
    *("max_tool_calls", "prompt_cache_key", "safety_identifier", "service_tier", "truncation", "background", "store"),
)


def part(text: str, kind: str = "input_text") -> dict[str, Any]:
    """Return a part of content."""
    return {"type": kind, "text": text}


def made(kind: str, prefix: str, **fields: Any) -> dict[str, Any]:
    """Return an item that a tool left behind which another server ran."""
    return {"type": kind, "id": f"{prefix}_00000000000000000000000000000001", **fields}


SEARCHED = made("web_search_call", "ws", status="completed", action={"type": "search", "query": "tea"})

LISTED = made("mcp_list_tools", "mcpl", server_label="shop", tools=[{"name": "price", "input_schema": {}}])

ASKED = made("mcp_call", "mcp", server_label="shop", name="price", arguments="{}", output="3", status="completed")

CODE: dict[str, Any] = {"status": "completed", "code": "1 + 1", "outputs": [{"type": "logs", "logs": "2"}]}

FORMS: dict[str, dict[str, Any]] = {
    "string": {"input": "Say hello."},
    "messages": {"input": [HELLO]},
    "typed-messages": {"input": [{"type": "message", **HELLO}]},
    "parts": {"input": [{"role": "user", "content": [part("Say "), part("hello.")]}]},
    "several-turns": {"input": [HELLO, ANSWER, HELLO]},
    "assistant-parts": {"input": [HELLO, {"role": "assistant", "content": [part("Hello.", "output_text")]}, HELLO]},
    "system": {"input": [{"role": "system", "content": "Answer in one word."}, HELLO]},
    "developer": {"input": [{"role": "developer", "content": "Answer in one word."}, HELLO]},
    "system-in-the-middle": {"input": [HELLO, ANSWER, {"role": "system", "content": "Answer in one word."}, HELLO]},
    "phase": {"input": [HELLO, {"type": "message", **ANSWER, "phase": "final_answer"}, HELLO]},
    "nulls": {"input": "Say hello.", **dict.fromkeys(NULLS)},
    "empty-lists": {"input": "Say hello.", "tools": [], "include": []},
    "call-and-output": {"input": [HELLO, CALL, OUTPUT], "tools": [WEATHER]},
    "output-parts": {"input": [HELLO, CALL, OUTPUT | {"output": [part("Sunny.")]}], "tools": [WEATHER]},
    "empty-output": {"input": [HELLO, CALL, OUTPUT | {"output": ""}], "tools": [WEATHER]},
    "null-fields": {"input": [HELLO, CALL | {"id": None, "status": None}, OUTPUT | {"id": None}], "tools": [WEATHER]},
    "empty-reasoning": {"input": [HELLO, REASONING, ANSWER, HELLO]},
    "image": {
        "input": [{"role": "user", "content": [part("Look."), {"type": "input_image", "image_url": png("red")}]}]
    },
    "file": {
        "input": [
            {
                "role": "user",
                "content": [
                    part("Read."),
                    {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
                ],
            }
        ]
    },
    "null-character": {"input": "Say \u0000 hello."},
    "any-script": {"input": f"Say hello to {TEA}."},
    "odd-keys": {"input": "Say hello.", "metadata": {"__proto__": "1", "$ref": "2", "lc": "3", "__class__": "4"}},
    "schema-key": {
        "input": "Say hello.",
        "tools": [WEATHER | {"parameters": {"$schema": "http://json-schema.org/draft-07/schema#", **CITY}}],
        "tool_choice": "none",
    },
    "web-search-item": {"input": [HELLO, SEARCHED, ANSWER, HELLO]},
    "file-search-item": {
        "input": [HELLO, made("file_search_call", "fs", status="completed", queries=["tea"], results=None), HELLO]
    },
    "code-item": {"input": [HELLO, made("code_interpreter_call", "ci", container_id="cntr_1", **CODE), ANSWER, HELLO]},
    "mcp-items": {"input": [LISTED, HELLO, ASKED, ANSWER, HELLO]},
    "configuration": {"input": [{"type": "configuration_update", "text": {"format": {"type": "text"}}}, HELLO]},
    "client-ids": {"input": [{"type": "message", "id": "msg_0b8f8a4e-1c2d-4e5f-8a9b-0c1d2e3f4a5b", **HELLO}]},
}
"""By the requirement's name: parameters that a server takes."""


CASES = taken_by_responses("inputs", FORMS)


@case("responses:inputs:item-reference")
def an_item_is_referred_to(trial: Trial) -> Steps:
    """Store a response, and refer to its message in another request."""
    first = trial.response((yield from trial.respond("Say hello.", store=True)))
    ids = [at(message, "id") for message in messages_of(first)]
    if not ids or not is_text(ids[0]):
        raise Stop("skipped", "There was no message to refer to.")
    exchange = yield from trial.respond([HELLO, {"type": "item_reference", "id": ids[0]}, HELLO])
    trial.offered(exchange)
    trial.expect("responses:inputs:item-reference", is_taken(exchange), exchange.came)


@case("responses:inputs:kept")
def a_text_comes_back_unchanged(trial: Trial) -> Steps:
    """Send instructions and metadata of many scripts, and see what the response says that they were."""
    exchange = yield from trial.respond("Say hello.", instructions=TEA, metadata={"tea": TEA})
    answer = trial.whole(exchange)
    told = [at(answer, "instructions"), at(answer, "metadata", "tea")]
    trial.expect("responses:inputs:kept", told == [TEA, TEA], shown(told))


@case("responses:inputs:duplicate-keys")
def the_last_of_two_keys_counts(trial: Trial) -> Steps:
    """Name two models in one body: first one that nobody has, then the right one."""
    body = trial.response_body("Say hello.")
    content = b'{"model": "no-such-model-anywhere", ' + json.dumps(body).encode().removeprefix(b"{")
    exchange = yield from trial.post("/responses", content=content, headers={"content-type": "application/json"})
    trial.served(exchange)
    trial.expect("responses:inputs:duplicate-keys", is_taken(exchange), exchange.came)
