"""A request for a chat completion as a request for a response, and the view of its answer."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from antiphon.errors import ClientError
from antiphon.protocol.requests import CreateResponse, TranslatedRequest
from antiphon.protocol.tools import AnyTool, CodeInterpreterTool, McpTool, ShellTool
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.validate import read_request
from antiphon.translation.chat_front.messages import ChatMessageReader, Restore
from antiphon.translation.chat_front.view import ChatView, invalid, unsupported

MOST_ANSWERS = 8
"""Answers (`n`) of one request: each is a run of its own."""

SAME = (
    *("temperature", "top_p", "presence_penalty", "frequency_penalty", "parallel_tool_calls"),
    *("user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"),
    *("prompt_cache_options", "service_tier", "stream", "antiphon"),
)
"""Parameters that a response has too."""

READ = frozenset(
    {
        *SAME,
        *("model", "messages", "max_tokens", "max_completion_tokens", "stop", "n", "seed"),
        *("stream_options", "tools", "tool_choice", "functions", "function_call"),
        *("response_format", "reasoning_effort", "verbosity", "logprobs", "top_logprobs"),
        *("web_search_options", "metadata", "store", "audio", "modalities", "prediction"),
        "moderation",
    }
)
"""Parameters that are read here; another one is for a backend that accepts it."""

HOSTED = ("web_search", "file_search", "mcp", "code_interpreter", "image_generation")
"""Beginnings of the types of tools of a server."""

OPTIONS = ("search_context_size",)

SIDE_EFFECTS = (McpTool, CodeInterpreterTool, ShellTool)
"""Tools of a server with calls that can change something: several answers repeat them."""


class ChatRequest(Struct, frozen=True):
    """A request for a response, and how its answer is written."""

    request: TranslatedRequest
    view: ChatView


def read_chat(
    body: Mapping[str, Any], restore: Restore, takes: Callable[[str], bool] | None = None
) -> ChatRequest:
    """Return a checked body of `POST /chat/completions` as a request for a response that is not
    stored.

    `takes` returns whether a backend may accept a parameter that the API does not have. Raises
    `ClientError` (400) with the client's names of parameters.
    """
    body = {name: value for name, value in body.items() if value is not None}
    _check_unsupported(body)
    reader = ChatMessageReader(restore)
    reader.read(body["messages"])
    is_legacy = "functions" in body and "tools" not in body
    limit = next((name for name in ("max_completion_tokens", "max_tokens") if name in body), "")
    view = ChatView(
        model=body["model"],
        answers=body.get("n", 1),
        is_stream=bool(body.get("stream")),
        shows_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        is_legacy=is_legacy,
        limit=limit or "max_completion_tokens",
        places=tuple(reader.places),
    )
    data: dict[str, Any] = {name: body[name] for name in SAME if name in body}
    data |= {name: value for name, value in body.items() if name not in READ}
    data |= {"model": body["model"], "input": reader.items, "store": False}
    data |= _tools(body, is_legacy=is_legacy)
    data |= _format(body)
    data |= _logprobs(body)
    data |= _reasoning(body)
    options = body.get("stream_options") or {}
    if isinstance(padding := options.get("include_obfuscation"), bool):
        data["stream_options"] = {"include_obfuscation": padding}
    try:
        request = read_request(data, takes)
    except ClientError as error:
        raise view.named(error) from None
    # Set afterwards: a response needs at least 16 tokens, and a completion does not.
    request.max_output_tokens = most if (most := body.get(limit, 0)) > 0 else None
    last = reader.items[-1]
    return ChatRequest(
        TranslatedRequest(
            **asdict(request),
            stop=_stops(body.get("stop")),
            optional={"seed": body["seed"]} if "seed" in body else {},
            is_prefilled=last["type"] == "message" and last["role"] == "assistant",
        ),
        view,
    )


def check_answers(answers: int, tools: Iterable[AnyTool]) -> None:
    """Raise `ClientError` (400) for several answers, each of which would run a tool with side
    effects.
    """
    tool = next((tool for tool in tools if isinstance(tool, SIDE_EFFECTS)), None)
    if answers > 1 and tool is not None:
        raise ClientError(
            f"'n' is {answers}, but each answer would run the tool "
            f"'{type(tool).__struct_config__.tag}', which can change something. Set 'n' to 1, or "
            "remove the tool.",
            code="unsupported_parameter",
            param="n",
        )


def _check_unsupported(body: Mapping[str, Any]) -> None:
    """Reject what a response cannot give, and what no chat completion has."""
    for name in ("audio", "moderation"):
        if name in body:
            raise unsupported(name, f"'{name}'")
    if "audio" in (body.get("modalities") or ()):
        raise unsupported("modalities", "An answer with audio")
    if body.get("n", 1) > MOST_ANSWERS:
        raise unsupported("n", f"An 'n' of more than {MOST_ANSWERS}")
    for name in body:
        if name not in READ and name in CreateResponse.__struct_encode_fields__:
            raise ClientError(
                f"Unknown parameter: '{name}'.", code=refusals.UNKNOWN_PARAMETER, param=name
            )


def _stops(stop: Any) -> list[str]:
    return [text for text in ([stop] if isinstance(stop, str) else stop or ()) if text]


def _tools(body: Mapping[str, Any], *, is_legacy: bool) -> dict[str, Any]:
    named: dict[str, Any] = {}
    if is_legacy:
        functions = [{"type": "function", "function": one} for one in body["functions"]]
        named["tools"] = [_tool(one, f"functions[{n}]") for n, one in enumerate(functions)]
        named["parallel_tool_calls"] = False
        choice = body.get("function_call")
        if isinstance(choice, dict):
            choice = {"type": "function", "name": choice.get("name")}
    else:
        tools = [_tool(one, f"tools[{n}]") for n, one in enumerate(body.get("tools", ()))]
        if (options := body.get("web_search_options")) is not None:
            tools.append(_search(options))
        if tools:
            named["tools"] = tools
        choice = _choice(body.get("tool_choice"))
    if choice is not None:
        named["tool_choice"] = choice
    return named


def _tool(tool: dict[str, Any], path: str) -> dict[str, Any]:
    kind = str(tool.get("type"))
    inner = tool.get(kind)
    if kind == "function" and isinstance(inner, dict):
        function = {"parameters": {"type": "object", "properties": {}}, "strict": None}
        provided = {name: value for name, value in inner.items() if value is not None}
        return {"type": kind, **function, **provided}
    if kind == "custom" and isinstance(inner, dict):
        form = inner.get("format")
        if isinstance(form, dict) and isinstance(form.get("grammar"), dict):
            form = {"type": "grammar", **form["grammar"]}
        return {"type": kind, **inner, **({"format": form} if form else {})}
    if not kind.startswith(HOSTED):
        raise invalid(
            f"{path}.type", f"'{path}' is no function, no custom tool and no tool of this server."
        )
    if kind == "mcp" and tool.get("require_approval") != "never":
        raise invalid(
            f"{path}.require_approval",
            'A chat completion cannot ask for the approval of calls. Send "never".',
        )
    return tool


def _search(options: Any) -> dict[str, Any]:
    if not isinstance(options, dict):
        raise invalid("web_search_options", "'web_search_options' is not an object.")
    tool = {"type": "web_search", **{name: options[name] for name in OPTIONS if name in options}}
    location = options.get("user_location")
    if isinstance(location, dict):
        place = location.get("approximate") or {}
        if not isinstance(place, dict):
            path = "web_search_options.user_location.approximate"
            raise invalid(path, f"'{path}' is not an object.")
        tool["user_location"] = {"type": "approximate", **place}
    return tool


def _choice(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice
    kind = str(choice.get("type"))
    inner = choice.get(kind)
    if kind == "allowed_tools" and isinstance(inner, dict):
        tools = inner.get("tools", [])
        if not isinstance(tools, list):
            path = "tool_choice.allowed_tools.tools"
            raise invalid(path, f"'{path}' is not an array.")
        return {
            "type": kind,
            "mode": inner.get("mode", "auto"),
            "tools": [_choice(one) for one in tools],
        }
    if kind in {"function", "custom"} and isinstance(inner, dict):
        return {"type": kind, "name": inner.get("name")}
    return choice


def _format(body: Mapping[str, Any]) -> dict[str, Any]:
    text: dict[str, Any] = {}
    wanted = body.get("response_format")
    if isinstance(wanted, dict):
        inner = wanted.get("json_schema")
        if wanted.get("type") == "json_schema" and isinstance(inner, dict):
            provided = {name: value for name, value in inner.items() if value is not None}
            text["format"] = {"type": "json_schema", **provided}
        else:
            text["format"] = wanted
    if "verbosity" in body:
        text["verbosity"] = body["verbosity"]
    return {"text": text} if text else {}


def _logprobs(body: Mapping[str, Any]) -> dict[str, Any]:
    if not body.get("logprobs"):
        return {}
    most = {"top_logprobs": body["top_logprobs"]} if "top_logprobs" in body else {}
    return {"include": ["message.output_text.logprobs"], **most}


def _reasoning(body: Mapping[str, Any]) -> dict[str, Any]:
    effort = body.get("reasoning_effort")
    if effort is None:
        return {}
    summary = {} if effort == "none" else {"summary": "auto"}
    return {"reasoning": {"effort": effort, **summary}}
