"""Forms of input, each sent once: the server accepts it or not."""

import json
from typing import Any

from antiphon_verify.areas.responses.file_inputs import PDF
from antiphon_verify.areas.responses.text import messages_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, is_text, preview
from antiphon_verify.replies.responses import inputs as replies
from antiphon_verify.requirement import Stop, capability, may, must, should
from antiphon_verify.samples import CITY, TEA, WEATHER, accepted, is_accepted, png
from antiphon_verify.trial import Steps, Trial

HELLO = {"role": "user", "content": "Say hello."}

ANSWER = {"role": "assistant", "content": "Hello."}

CALL = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": '{"city": "Paris"}',
}

OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "Sunny."}

REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_00000000000000000000000000000001",
    "summary": [],
}

NULLS = (
    *(
        "include",
        "instructions",
        "metadata",
        "previous_response_id",
        "user",
        "temperature",
        "top_p",
        "reasoning",
    ),
    *(
        "max_tool_calls",
        "prompt_cache_key",
        "safety_identifier",
        "service_tier",
        "truncation",
        "background",
        "store",
    ),
)


def patched(number: int) -> list[dict[str, Any]]:
    """Return a call of `apply_patch` and its output, without the optional fields."""
    call_id = f"call_{number}"
    operation = {"type": "delete_file", "path": "a.txt"}
    return [
        {
            "type": "apply_patch_call",
            "call_id": call_id,
            "status": "completed",
            "operation": operation,
        },
        {"type": "apply_patch_call_output", "call_id": call_id, "status": "failed"},
    ]


def part(text: str, kind: str = "input_text") -> dict[str, Any]:
    """Return a content part."""
    return {"type": kind, "text": text}


def call_of(kind: str, prefix: str, **fields: Any) -> dict[str, Any]:
    """Return the item of a tool call that another server ran."""
    return {"type": kind, "id": f"{prefix}_00000000000000000000000000000001", **fields}


SEARCHED = call_of(
    "web_search_call", "ws", status="completed", action={"type": "search", "query": "tea"}
)

LISTED = call_of(
    "mcp_list_tools", "mcpl", server_label="shop", tools=[{"name": "price", "input_schema": {}}]
)

PROMPT = call_of(
    "mcp_call",
    "mcp",
    server_label="shop",
    name="price",
    arguments="{}",
    output="3",
    status="completed",
)

CODE: dict[str, Any] = {
    "status": "completed",
    "code": "1 + 1",
    "outputs": [{"type": "logs", "logs": "2"}],
}


CASES = (
    accepted(
        must("responses:inputs:string", "open-responses 1", "`input` can be a string."),
        input="Say hello.",
    ),
    accepted(
        must(
            "responses:inputs:messages",
            "client agents-sdk",
            "Messages with `role` and `content`, without a `type`, are accepted.",
        ),
        input=[HELLO],
    ),
    accepted(
        must(
            "responses:inputs:typed-messages",
            "spec 5",
            "Messages with `type: message` are accepted.",
        ),
        input=[{"type": "message", **HELLO}],
    ),
    accepted(
        must(
            "responses:inputs:parts",
            "spec 5",
            "A message's content can be a list of `input_text` parts.",
        ),
        input=[{"role": "user", "content": [part("Say "), part("hello.")]}],
    ),
    accepted(
        must(
            "responses:inputs:several-turns",
            "spec 5",
            "A history of user and assistant messages is accepted.",
        ),
        input=[HELLO, ANSWER, HELLO],
    ),
    accepted(
        must(
            "responses:inputs:assistant-parts",
            "spec 5",
            "The content of an assistant message can be a list of `output_text` parts.",
        ),
        input=[HELLO, {"role": "assistant", "content": [part("Hello.", "output_text")]}, HELLO],
    ),
    accepted(
        must(
            "responses:inputs:system",
            "open-responses",
            "A message with the role `system` is accepted.",
        ),
        input=[{"role": "system", "content": "Answer in one word."}, HELLO],
    ),
    accepted(
        must(
            "responses:inputs:developer",
            "issue llama.cpp#20215",
            "A message with the role `developer` is accepted.",
        ),
        input=[{"role": "developer", "content": "Answer in one word."}, HELLO],
    ),
    accepted(
        should(
            "responses:inputs:system-in-the-middle",
            "issue sglang#40082",
            "A system message can appear in the middle of a conversation.",
        ),
        input=[HELLO, ANSWER, {"role": "system", "content": "Answer in one word."}, HELLO],
    ),
    accepted(
        should(
            "responses:inputs:phase", "open-responses", "An assistant message can have a `phase`."
        ),
        input=[HELLO, {"type": "message", **ANSWER, "phase": "final_answer"}, HELLO],
    ),
    accepted(
        must("responses:inputs:nulls", "client llama-index", "Optional parameters can be null."),
        input="Say hello.",
        **dict.fromkeys(NULLS),
    ),
    accepted(
        must(
            "responses:inputs:empty-lists",
            "client agents-sdk",
            "`tools` and `include` can be empty lists.",
        ),
        input="Say hello.",
        tools=[],
        include=[],
    ),
    accepted(
        must(
            "responses:inputs:call-and-output",
            "spec 5",
            "A call and its output in the history are accepted.",
        ),
        input=[HELLO, CALL, OUTPUT],
        tools=[WEATHER],
    ),
    accepted(
        should(
            "responses:inputs:output-parts",
            "issue llama.cpp#23465",
            "A tool output can be a list of parts.",
        ),
        input=[HELLO, CALL, OUTPUT | {"output": [part("Sunny.")]}],
        tools=[WEATHER],
    ),
    accepted(
        must(
            "responses:inputs:empty-output",
            "issue agents#3310",
            "A tool output can be an empty string.",
        ),
        input=[HELLO, CALL, OUTPUT | {"output": ""}],
        tools=[WEATHER],
    ),
    accepted(
        must(
            "responses:inputs:absent-output",
            "client agents-sdk",
            "An `apply_patch_call_output` without `output` is accepted, also if the same "
            "call is repeated.",
        ),
        input=[HELLO, *patched(1), *patched(2)],
        tools=[{"type": "apply_patch"}],
    ),
    accepted(
        should(
            "responses:inputs:null-fields",
            "issue openai-python#3008",
            "Null fields in an item are accepted.",
        ),
        input=[HELLO, CALL | {"id": None, "status": None}, OUTPUT | {"id": None}],
        tools=[WEATHER],
    ),
    accepted(
        should(
            "responses:inputs:empty-reasoning",
            "issue llama.cpp#29159",
            "An empty reasoning item is accepted.",
        ),
        input=[HELLO, REASONING, ANSWER, HELLO],
    ),
    accepted(
        capability(
            should(
                "responses:inputs:image", "spec 5", "A message can contain an image as a data URL."
            )
        ),
        input=[
            {
                "role": "user",
                "content": [part("Look."), {"type": "input_image", "image_url": png("red")}],
            }
        ],
    ),
    accepted(
        capability(
            may("responses:inputs:file", "spec 5", "A message can contain a file as base64.")
        ),
        input=[
            {
                "role": "user",
                "content": [
                    part("Read."),
                    {
                        "type": "input_file",
                        "filename": "a.pdf",
                        "file_data": f"data:application/pdf;base64,{PDF}",
                    },
                ],
            }
        ],
    ),
    accepted(
        must(
            "responses:inputs:null-character", "spec 13", "A text can contain the character U+0000."
        ),
        input="Say \u0000 hello.",
    ),
    accepted(
        must(
            "responses:inputs:any-script",
            "spec 13",
            "Text in any script is accepted, including emoji and bidirectional control characters.",
        ),
        input=f"Say hello to {TEA}.",
    ),
    accepted(
        must(
            "responses:inputs:odd-keys",
            "spec 13",
            "Metadata keys such as `__proto__` and `$ref` are plain data.",
        ),
        input="Say hello.",
        metadata={"__proto__": "1", "$ref": "2", "lc": "3", "__class__": "4"},
    ),
    accepted(
        should(
            "responses:inputs:schema-key",
            "client ai-sdk",
            "The parameters of a tool can contain `$schema`.",
        ),
        input="Say hello.",
        tools=[
            WEATHER | {"parameters": {"$schema": "http://json-schema.org/draft-07/schema#", **CITY}}
        ],
        tool_choice="none",
    ),
    accepted(
        should(
            "responses:inputs:web-search-item",
            "spec 5",
            "The web search of another server is accepted in the input.",
        ),
        input=[HELLO, SEARCHED, ANSWER, HELLO],
    ),
    accepted(
        should(
            "responses:inputs:file-search-item",
            "spec 5",
            "The file search of another server is accepted in the input.",
        ),
        input=[
            HELLO,
            call_of("file_search_call", "fs", status="completed", queries=["tea"], results=None),
            HELLO,
        ],
    ),
    accepted(
        should(
            "responses:inputs:code-item",
            "spec 5",
            "The code interpreter call of another server is accepted in the input.",
        ),
        input=[
            HELLO,
            call_of("code_interpreter_call", "ci", container_id="cntr_1", **CODE),
            ANSWER,
            HELLO,
        ],
    ),
    accepted(
        should(
            "responses:inputs:mcp-items",
            "spec 5",
            "The MCP tool list and call of another server are accepted in the input.",
        ),
        input=[LISTED, HELLO, PROMPT, ANSWER, HELLO],
    ),
    accepted(
        should(
            "responses:inputs:configuration", "spec 5", "A `configuration_update` item is accepted."
        ),
        input=[{"type": "configuration_update", "text": {"format": {"type": "text"}}}, HELLO],
    ),
    accepted(
        should(
            "responses:inputs:client-ids",
            "client codex",
            "Input items can have ids that the client created.",
        ),
        input=[{"type": "message", "id": "msg_0b8f8a4e-1c2d-4e5f-8a9b-0c1d2e3f4a5b", **HELLO}],
    ),
)


@case(
    should(
        "responses:inputs:item-reference",
        "spec 5",
        "An input item can refer to a stored item by its id.",
        fault=[replies.ACCEPTED, replies.REJECTED],
    ),
    good=[replies.ACCEPTED, replies.ACCEPTED],
)
def an_item_is_referred_to(trial: Trial) -> Steps:
    """Store a response, and refer to its message in another request."""
    first = trial.response((yield from trial.respond("Say hello.", store=True)))
    ids = [at(message, "id") for message in messages_of(first)]
    if not ids or not is_text(ids[0]):
        raise Stop("skipped", "There was no message to refer to.")
    exchange = yield from trial.respond([HELLO, {"type": "item_reference", "id": ids[0]}, HELLO])
    trial.offered(exchange)
    trial.expect("responses:inputs:item-reference", is_accepted(exchange), exchange.came)


@case(
    should(
        "responses:inputs:kept",
        "spec 3",
        "`instructions` and `metadata` in any script are returned unchanged.",
        fault=[replies.ECHOED.patched("metadata", "tea", to="? ? ?")],
    ),
    good=[replies.ECHOED],
)
def a_text_comes_back_unchanged(trial: Trial) -> Steps:
    """Send instructions and metadata in many scripts, and compare them with the response."""
    exchange = yield from trial.respond("Say hello.", instructions=TEA, metadata={"tea": TEA})
    answer = trial.whole(exchange)
    echoed = [at(answer, "instructions"), at(answer, "metadata", "tea")]
    trial.expect("responses:inputs:kept", echoed == [TEA, TEA], preview(echoed))


@case(
    may(
        "responses:inputs:duplicate-keys",
        "spec 13",
        "If a key appears twice in the body, the last one counts.",
        fault=[replies.REJECTED],
    ),
    good=[replies.ACCEPTED],
)
def the_last_of_two_keys_counts(trial: Trial) -> Steps:
    """Name two models in one body: first an unknown one, then the right one."""
    body = trial.response_body("Say hello.")
    content = b'{"model": "no-such-model-anywhere", ' + json.dumps(body).encode().removeprefix(b"{")
    exchange = yield from trial.post(
        "/responses", content=content, headers={"content-type": "application/json"}
    )
    trial.supported(exchange)
    trial.expect("responses:inputs:duplicate-keys", is_accepted(exchange), exchange.came)
