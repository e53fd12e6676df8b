"""Translates a Chat Completions request into a request to Ollama's native `/api/chat`.

Sources: Ollama's `docs/api.md`, and `ChatRequest` and `Message` in its `api/types.go`. Two fields
that its page omits decide whether an answer can be trusted: by default `truncate` drops the oldest
messages of a prompt that is too long, and `shift` drops the older half of the window when an answer
fills it. Both are sent as false: a prompt that is too long is an error (ollama#4967, #17944), and
an answer that fills the window ends with `length`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from antiphon.errors import ClientError
from antiphon.translation.tool_mapping.calls import as_object

Body = dict[str, Any]

CHAT = "/../api/chat"
"""The endpoint, relative to a base URL that ends in `/v1`."""

SAMPLED = frozenset(
    {"seed", "stop", "top_k", "min_p", "typical_p", "repeat_penalty", "repeat_last_n"}
)
"""Parameters that Chat clients send in addition to those of OpenAI, and that Ollama accepts among
its options.
"""

PASSTHROUGH = SAMPLED | {"options"}
"""Parameters that the native API accepts and the Responses API does not have."""

_OPTIONS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            "temperature",
            "top_p",
            "presence_penalty",
            "frequency_penalty",
            *sorted(SAMPLED),
        )
    },
    "max_tokens": "num_predict",
    "max_completion_tokens": "num_predict",
}
"""Chat parameter -> option."""

_ASIDE = ("keep_alive", "think", "logprobs", "top_logprobs")
"""Parameters that the native API has under the same name, outside its options."""

_IMAGE = re.compile(r"data:[^,]{0,200};base64,")

_THINKING = ("reasoning", "reasoning_content", "thinking")
"""Fields of an assistant message that can contain its reasoning."""


class NativeOptions(msgspec.Struct, frozen=True):
    """What the native API accepts and a Chat request does not have."""

    num_ctx: int | None = None
    """Tokens of the window to load the model with; None leaves it to the server."""
    keep_alive: str | int | None = None
    """How long the model stays in memory after the answer, as Ollama reads it; None leaves it to
    the server.
    """
    thinks: bool | None = None
    """Whether the model can think, None if that is unknown: Ollama rejects `think` for a model that
    cannot.
    """


def native_request(body: Mapping[str, Any], options: NativeOptions) -> Body:
    """Return the native request that is equivalent to a Chat request.

    Raises `ClientError` for an image that is not in the request itself: Ollama fetches none.
    """
    native: Body = {
        "model": body.get("model"),
        "messages": native_messages(body.get("messages") or []),
        "stream": bool(body.get("stream")),
        "truncate": False,
        "shift": False,
    }
    if tools := _tools(body):
        native["tools"] = tools
    if (form := _format(body.get("response_format"))) is not None:
        native["format"] = form
    if options.keep_alive is not None:
        native["keep_alive"] = options.keep_alive
    if (think := _think(body)) is not None and options.thinks is not False:
        native["think"] = think
    native |= {
        name: body[name] for name in _ASIDE if body.get(name) is not None and name != "think"
    }
    if set_options := _options(body, options.num_ctx):
        native["options"] = set_options
    return native


def native_messages(messages: Sequence[Mapping[str, Any]]) -> list[Body]:
    """Return Chat messages as native ones: images next to the text, arguments as objects, a tool's
    name with its output.

    Raises `ClientError` as `native_request`.
    """
    names: dict[str, str] = {}
    return [_message(message, names) for message in messages]


def requested_window(body: Mapping[str, Any]) -> int:
    """Return the window in tokens that the client's `options` request; 0 if they request none."""
    options = body.get("options")
    wanted = options.get("num_ctx") if isinstance(options, dict) else None
    return wanted if type(wanted) is int and wanted > 0 else 0


def _message(message: Mapping[str, Any], names: dict[str, str]) -> Body:
    """Return one message; `names` collects the names of the calls by their ids."""
    text, images = _content(message.get("content"))
    native: Body = {"role": message.get("role"), "content": text or message.get("refusal") or ""}
    if images:
        native["images"] = images
    thinking = next((message[name] for name in _THINKING if isinstance(message.get(name), str)), "")
    if thinking:
        native["thinking"] = thinking
    if calls := message.get("tool_calls"):
        native["tool_calls"] = [_call(call, names) for call in calls]
    if (call_id := message.get("tool_call_id")) is not None:
        native["tool_call_id"] = call_id
        if name := message.get("name") or names.get(call_id):
            native["tool_name"] = name
    return native


def _content(content: Any) -> tuple[str, list[str]]:
    """Return the text of a message and its images, as base64."""
    if not isinstance(content, list):
        return content or "", []
    texts = [part["text"] for part in content if part.get("type") == "text"]
    images = [_image(part["image_url"]) for part in content if part.get("type") == "image_url"]
    return "\n\n".join(texts), images


def _image(value: Any) -> str:
    url = value.get("url") if isinstance(value, dict) else value
    found = _IMAGE.match(url) if isinstance(url, str) else None
    if found is None:
        raise ClientError(
            "Ollama does not fetch images. Send the image itself, as a data URL with "
            "base64-encoded data.",
            param="messages",
        )
    return str(url)[found.end() :]


def _call(call: Mapping[str, Any], names: dict[str, str]) -> Body:
    function = call["function"]
    native: Body = {
        "function": {"name": function["name"], "arguments": _arguments(function.get("arguments"))}
    }
    if call_id := call.get("id"):
        names[call_id] = function["name"]
        native["id"] = call_id
    return native


def _arguments(arguments: Any) -> msgspec.Raw:
    """Return the arguments as an object: their text stays unchanged, so that a prompt keeps its
    prefix.
    """
    return msgspec.Raw(as_object(arguments or "").encode())


def _tools(body: Mapping[str, Any]) -> list[Any]:
    """Return the tools to offer.

    Ollama reads no `tool_choice`, so tools that must not be called are not offered.
    """
    tools = body.get("tools") or []
    choice = body.get("tool_choice")
    if choice == "none":
        return []
    named = choice.get("function") if isinstance(choice, dict) else None
    if not isinstance(named, dict):
        return list(tools)
    return [tool for tool in tools if (tool.get("function") or {}).get("name") == named.get("name")]


def _format(form: Any) -> Any:
    """Return the schema that constrains the answer, `json` for any JSON, None for free text."""
    if not isinstance(form, dict):
        return None
    if form.get("type") == "json_schema":
        return (form.get("json_schema") or {}).get("schema")
    return form.get("schema", "json") if form.get("type") == "json_object" else None


def _think(body: Mapping[str, Any]) -> bool | str | None:
    """Return how much the model is to think: a level, or false for none; None leaves it to the
    model.
    """
    if (think := body.get("think")) is not None:
        return think  # type: ignore[no-any-return] # the client's own, which the server checks
    reasoning = body.get("reasoning")
    effort = body.get("reasoning_effort") or (
        reasoning.get("effort") if isinstance(reasoning, dict) else None
    )
    return False if effort == "none" else effort


def _options(body: Mapping[str, Any], num_ctx: int | None) -> Body:
    own = body.get("options")
    options: Body = dict(own) if isinstance(own, dict) else {}
    for name, option in _OPTIONS.items():
        if (value := body.get(name)) is not None:
            options[option] = [value] if name == "stop" and isinstance(value, str) else value
    if num_ctx is not None:
        options["num_ctx"] = num_ctx
    return options
