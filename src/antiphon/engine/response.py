"""A new response: the request's settings echoed as the API echoes them (specification section 3)."""

from typing import Any

import msgspec

from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import ConversationRef, Response
from antiphon.protocol.tools import CustomTool, FunctionTool, McpTool, NamespaceTool, Tool
from antiphon.translation.writer import View

TEXT = {"format": {"type": "text"}, "verbosity": "medium"}


def open_response(request: CreateResponse, response_id: str, created_at: int) -> Response:
    """Return the response object as it stands before anything was generated."""
    return Response(
        id=response_id,
        created_at=created_at,
        background=bool(request.background),
        conversation=ConversationRef(id=request.conversation_id) if request.conversation_id else None,
        model=request.model,
        instructions=request.instructions,
        max_output_tokens=request.max_output_tokens,
        max_tool_calls=request.max_tool_calls,
        parallel_tool_calls=_or(request.parallel_tool_calls, True),
        previous_response_id=request.previous_response_id,
        prompt_cache_key=request.prompt_cache_key,
        prompt_cache_options=request.prompt_cache_options,
        prompt_cache_retention=request.prompt_cache_retention,
        reasoning=_reasoning(request),
        safety_identifier=request.safety_identifier,
        service_tier=_service_tier(request),
        store=_or(request.store, True),
        temperature=_or(request.temperature, 1.0),
        text=_text(request),
        tool_choice=_or(request.tool_choice, "auto"),
        tools=[_tool(tool) for tool in request.tools or ()],
        top_logprobs=_or(request.top_logprobs, 0),
        top_p=_or(request.top_p, 1.0),
        presence_penalty=_or(request.presence_penalty, 0.0),
        frequency_penalty=_or(request.frequency_penalty, 0.0),
        truncation=_or(request.truncation, "disabled"),
        user=request.user,
        metadata=request.metadata or {},
    )


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
    return "".join(
        part.text
        for item in response.output
        if getattr(item, "role", None) == "assistant"
        for part in item.content
        if hasattr(part, "text")
    )


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _reasoning(request: CreateResponse) -> dict[str, Any]:
    asked = msgspec.to_builtins(request.reasoning) if request.reasoning else {}
    return {"effort": None, "summary": None} | {name: value for name, value in asked.items() if value is not None}


def _service_tier(request: CreateResponse) -> str:
    tier = request.service_tier or "default"
    return {"auto": "default", "fast": "priority"}.get(tier, tier)


def _text(request: CreateResponse) -> dict[str, Any]:
    if request.text is None:
        return TEXT
    asked = msgspec.to_builtins(request.text)
    return {name: asked[name] or default for name, default in TEXT.items()}


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
