"""A new response: the request's settings echoed as the API echoes them (specification section 3)."""

from typing import Any

import msgspec

from antiphon.protocol.requests import CreateResponse, ReasoningConfig, TextConfig
from antiphon.protocol.response import ConversationRef, Response
from antiphon.protocol.tools import CustomTool, FunctionTool, McpTool, NamespaceTool, Tool
from antiphon.translation.writer import View

TEXT = {"format": {"type": "text"}, "verbosity": "medium"}
"""What is echoed where the request says nothing of its text."""

REASONING = {"effort": None, "summary": None}
"""What is echoed where the request says nothing of reasoning."""

SERVICE_TIERS = {"auto": "default", "fast": "priority"}
"""What is echoed for a service tier, where that is another one."""

ECHOED = (
    *("background", "instructions", "max_output_tokens", "max_tool_calls", "parallel_tool_calls"),
    *("previous_response_id", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
    *("safety_identifier", "store", "temperature", "tool_choice", "top_logprobs", "top_p", "presence_penalty"),
    *("frequency_penalty", "truncation", "user", "metadata"),
)
"""Fields that are echoed as they came. For one that was not set, `Response` has what the API echoes."""


def open_response(request: CreateResponse, response_id: str, created_at: int) -> Response:
    """Return the response object as it stands before anything was generated."""
    echoed: dict[str, Any] = {}
    for name in ECHOED:
        if (value := getattr(request, name)) is not None:
            echoed[name] = value
    echoed["reasoning"] = REASONING if request.reasoning is None else _reasoning(request.reasoning)
    echoed["text"] = TEXT if request.text is None else _text(request.text)
    if request.conversation is not None:
        echoed["conversation"] = ConversationRef(id=str(request.conversation_id))
    if request.service_tier is not None:
        echoed["service_tier"] = SERVICE_TIERS.get(request.service_tier, request.service_tier)
    if request.tools is not None:
        echoed["tools"] = [_tool(tool) for tool in request.tools]
    return Response(id=response_id, created_at=created_at, model=request.model, **echoed)


def view_of(request: CreateResponse) -> View:
    """Return what of the response this request asks to see.

    Without storage reasoning items carry their `encrypted_content` unasked (specification section 10.4).
    """
    include = request.include or ()
    options = request.stream_options
    return View(
        summary=request.reasoning is not None and request.reasoning.summary is not None,
        encrypted="reasoning.encrypted_content" in include or request.store is False,
        sources="web_search_call.action.sources" in include,
        results="web_search_call.results" in include,
        logprobs="message.output_text.logprobs" in include or bool(request.top_logprobs),
        rivals=request.top_logprobs or 0,
        obfuscation=bool(request.stream) and (options is None or options.include_obfuscation is not False),
    )


def output_text(response: Response) -> str:
    """Return the text of all messages of a response, joined."""
    texts = []
    for item in response.output:
        if getattr(item, "role", None) == "assistant":
            texts += [part.text for part in item.content if hasattr(part, "text")]
    return "".join(texts)


def _reasoning(reasoning: ReasoningConfig) -> dict[str, Any]:
    set_fields = {name: value for name, value in msgspec.to_builtins(reasoning).items() if value is not None}
    return REASONING | set_fields


def _text(text: TextConfig) -> dict[str, Any]:
    echoed = msgspec.to_builtins(text)
    return {name: echoed[name] or default for name, default in TEXT.items()}


def _tool(tool: Tool) -> dict[str, Any]:
    """Echo a tool with its defaults filled in (specification section 3); what opens another server is not told."""
    asked: dict[str, Any] = msgspec.to_builtins(tool)
    if isinstance(tool, FunctionTool):
        # `strict` is false where it was left open (specification section 6).
        return {"output_schema": None, **asked, "strict": bool(tool.strict)}
    if isinstance(tool, CustomTool):
        return {**asked, "format": asked["format"] or {"type": "text"}}
    if isinstance(tool, NamespaceTool):
        return {**asked, "tools": [_tool(inner) for inner in tool.tools]}
    if isinstance(tool, McpTool):
        asked.pop("authorization", None)
        return {**asked, "headers": None}
    return asked
