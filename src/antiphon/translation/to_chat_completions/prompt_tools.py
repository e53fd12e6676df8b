"""Tools for a model with a backend that does not support them: described in the prompt, called in
the text, answered in messages.

| | Native | In the prompt |
|---|---|---|
| tools | `tools` | a section of the system message |
| `tool_choice`, `parallel_tool_calls` | parameters | the last sentences of that section |
| a call | `tool_calls` | a `<tool_call>` block in the assistant's text; `from_chat/text_calls` reads it |
| its output | a `tool` message | a `<tool_response>` block in a user message |

The format is that of Hermes and Qwen, which most models have seen. If the request requires a call,
or a format of the answer, and the backend accepts a schema, the schema forces the model to write a
call, or a call or that format: then a call is one JSON object. Otherwise the answer stays free: a
schema would prevent models from reasoning, and make their prose worse. Only if the dialect says so
(`tools="schema"`) every answer is forced into JSON, with text in `answer`.
"""  # noqa: E501 - a table, a diagram or an example

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from antiphon.protocol.formats import JsonObjectFormat, JsonSchemaFormat
from antiphon.protocol.requests import CreateResponse, TextConfig
from antiphon.protocol.tool_bindings import ANSWER, Offer
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.to_chat_completions.schema_roots import completed
from antiphon.translation.tool_mapping.choice import chat_function, tool_choice
from antiphon.translation.tool_mapping.offering import Toolbox

Format = Any
"""A request's `text.format`."""

_REQUESTED = (
    "You can call functions. Each of these lines is the definition of one, "
    "with the JSON Schema of its arguments:"
)
_IN_BLOCKS = (
    "To call a function, end your answer with a block like this one, or with several of them. "
    "Write the function's name, and its arguments as a JSON object:\n"
    '<tool_call>\n{"name": "…", "arguments": {…}}\n</tool_call>\n'
    "Write nothing behind the blocks. You then receive the output of each call "
    "in a <tool_response> block."
)
_IN_JSON = (
    "To call a function, answer with one JSON object and nothing else. Write the function's name, "
    'and its arguments as a JSON object:\n{"name": "…", "arguments": {…}}\n'
    "You then receive the output of the call in a <tool_response> block."
)
_IN_JSON_ALONE = (
    f'To answer without a call, write your answer as a JSON object: {{"{ANSWER}": "…"}}'
)
_ANSWER_SCHEMA = {
    "type": "object",
    "properties": {ANSWER: {"type": "string"}},
    "required": [ANSWER],
    "additionalProperties": False,
}
_CHOICES = {
    "none": "Do not call a function now. Answer without one.",
    "required": "You must call a function now.",
}
_ONE = "Call one function at a time."


def prompt_tools(
    request: CreateResponse, toolbox: Toolbox, dialect: Dialect
) -> tuple[str | None, TextConfig | None]:
    """Return the instructions with the tools in them, and the format of the answer, which allows or
    requires a call.

    Raises `ClientError` as `tool_choice` for a choice of no tool.
    """
    form = request.text.format if request.text else None
    can_choose = replace(dialect, accepts=dialect.accepts | {"tool_choice"}, tool_choice="named")
    offers, choice = tool_choice(toolbox, request.tool_choice, can_choose)
    if not offers:
        return request.instructions, request.text
    named = choice["function"]["name"] if isinstance(choice, dict) else ""
    demanded = [offer for offer in offers if offer.chat_name == named or choice == "required"]
    is_object = isinstance(form, JsonSchemaFormat | JsonObjectFormat)
    is_wrapped = (
        dialect.tools == "schema"
        and not (is_object or demanded)
        and dialect.takes_schemas
        and choice != "none"
    )
    if is_wrapped:
        form = JsonSchemaFormat(name=ANSWER, schema=_ANSWER_SCHEMA)
    if dialect.takes_schemas and choice != "none":
        form = _of_calls(demanded) if demanded else _or_call(form, offers)
        is_object = is_object or is_wrapped or bool(demanded)
    how = (f"{_IN_JSON}\n{_IN_JSON_ALONE}" if is_wrapped else _IN_JSON) if is_object else _IN_BLOCKS
    last = f"You must call the function {named} now." if named else _CHOICES.get(str(choice), "")
    one = _ONE if request.parallel_tool_calls is False and not is_object else ""
    words = described([chat_function(offer) for offer in offers], how)
    text = (request.instructions, words, " ".join(filter(None, (one, last))))
    return "\n\n".join(filter(None, text)), msgspec.structs.replace(
        request.text or TextConfig(), format=form
    )


def described(functions: Sequence[Any], how: str = _IN_BLOCKS) -> str:
    """Return the section of a prompt that describes functions, and how to call them."""
    tools = "\n".join(msgspec.json.encode(function).decode() for function in functions)
    return f"# Functions\n\n{_REQUESTED}\n<tools>\n{tools}\n</tools>\n\n{how}"


def _of_calls(offers: Sequence[Offer]) -> JsonSchemaFormat:
    calls = [_call_schema(offer) for offer in offers]
    return JsonSchemaFormat(name="call", schema=calls[0] if len(calls) == 1 else {"anyOf": calls})


def _or_call(form: Format, offers: Sequence[Offer]) -> Format:
    """Return the format extended by calls; one that is not a schema allows them as it is."""
    if not isinstance(form, JsonSchemaFormat):
        return form
    # References are relative to the root.
    definitions: dict[str, Any] = {
        name: form.schema[name] for name in ("$defs", "definitions") if name in form.schema
    }
    own = {name: value for name, value in form.schema.items() if name not in definitions}
    schema = {"anyOf": [own, *map(_call_schema, offers)], **definitions}
    return JsonSchemaFormat(name=form.name, schema=schema, description=form.description)


def _call_schema(offer: Offer) -> dict[str, Any]:
    """Return the schema of a call. One with references, which are relative to its own root, is only
    described in words.
    """
    has_references = b'"$ref"' in msgspec.json.encode(offer.parameters)
    arguments = {"type": "object"} if has_references else completed(offer.parameters)
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": [offer.chat_name]},
            "arguments": arguments,
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


# Earlier calls.

Messages = list[dict[str, Any]]


def in_words(messages: Messages) -> Messages:
    """Return the messages of one answer with its calls and their outputs as text, outputs in the
    order of the calls.
    """
    reported: Messages = []
    outputs: dict[str, str] = {}
    order: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            outputs[message["tool_call_id"]] = _text(message["content"])
            continue
        calls = message.get("tool_calls", ())
        order += [call["id"] for call in calls]
        reported.append(_with_blocks(message, calls) if calls else message)
    blocks = [_response(outputs.pop(call_id)) for call_id in order if call_id in outputs]
    blocks += map(_response, outputs.values())
    if blocks:
        reported.insert(bool(order), {"role": "user", "content": "\n".join(blocks)})
    return reported


def _with_blocks(message: dict[str, Any], calls: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return an assistant message with its calls in its text."""
    blocks = "\n".join(_block(call["function"]) for call in calls)
    content = message.get("content")
    text = (
        [*content, {"type": "text", "text": blocks}]
        if isinstance(content, list)
        else "\n".join(filter(None, (content, blocks)))
    )
    return {name: value for name, value in message.items() if name != "tool_calls"} | {
        "content": text
    }


def _block(function: dict[str, Any]) -> str:
    name = msgspec.json.encode(function["name"]).decode()
    return f'<tool_call>\n{{"name": {name}, "arguments": {function["arguments"]}}}\n</tool_call>'


def _response(output: str) -> str:
    return f"<tool_response>\n{output}\n</tool_response>"


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part["type"] == "text")
    return str(content)
