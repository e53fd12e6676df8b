"""Translates a Responses request of ours into one to a backend that implements Responses itself.

Our own features stay here: the chain or conversation (the whole history goes as `input`), storage
(`store` is always false), background, metadata, compaction. Everything else that the client
requested is forwarded unchanged, including tools that the backend runs. Our ids mean nothing to the
backend; an item keeps one if the API requires one, and reasoning receives the backend's own, with
the blob that is tied to it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.items.calls import (
    ComputerCall,
    CustomToolCall,
    CustomToolCallOutput,
    LocalShellCall,
    LocalShellCallOutput,
    ShellCall,
    ShellCallOutput,
)
from antiphon.protocol.items.content import MAX_CALL_ID, InputFile
from antiphon.protocol.items.hosted import (
    STORED_FIELDS,
    CodeInterpreterCall,
    HostedItem,
    ImageGenerationCall,
)
from antiphon.protocol.items.messages import (
    Compaction,
    ConfigurationUpdate,
    FunctionCall,
    InputItem,
    ItemReference,
    Message,
    Reasoning,
)
from antiphon.protocol.requests import CreateResponse, LocalRequest, PromptedRequest
from antiphon.protocol.validation.call_rules import CALLS, tie
from antiphon.translation.dialects.dialect import Api, Dialect
from antiphon.translation.files import DELETED, PAST, ReadFiles
from antiphon.translation.learned import named_parameter
from antiphon.translation.signed_calls import shortened
from antiphon.translation.to_chat_completions.history import remembered, summary
from antiphon.translation.to_chat_completions.hosted import Approvals, rendered_call, state_of
from antiphon.translation.to_chat_completions.reasoning import Unseal, nothing, plain_text, recount
from antiphon.translation.to_chat_completions.request import (
    configured,
    responses_parameter,
    unsupported,
)

Body = dict[str, Any]

HINTS = frozenset(
    {
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "parallel_tool_calls",
        "max_tool_calls",
    }
    | {"reasoning", "user", "safety_identifier", "truncation", "service_tier"}
    | {"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"}
)
"""Fields that are omitted if the backend rejects them: the answer is the same without them, or
nearly.
"""

NEEDED = frozenset(
    {
        "include",
        "tools",
        "tool_choice",
        "text",
        "max_output_tokens",
        "instructions",
        "top_logprobs",
        "stream",
    }
)
"""Fields that the client would miss: a backend's rejection of one is returned to the client."""

USUAL = frozenset(
    {"function", "message", "function_call", "function_call_output", "reasoning"}
    | {"compaction", "compaction_trigger", "configuration_update"}
)
"""Types of tools and items that every Responses API accepts, or that are never sent."""

SEALED = "reasoning.encrypted_content"
"""Always requested: without storage, the backend's reasoning returns to it only in this form."""

LEAST_OUTPUT = 16
"""Tokens to which a response can be limited at least."""

LONGEST_ID = 64
"""Characters of an item's id, at OpenAI."""

_UNKNOWN_THERE = frozenset(
    {
        "internal_chat_message_metadata_passthrough",
        "parsed",
        "parsed_arguments",
        "created_by",
        "logprobs",
    }
)
"""Fields of an item that no backend reads."""

_WITH_ID = (*HostedItem.__args__, ComputerCall, LocalShellCall)
"""Items that must have an id, in addition to an assistant's message and reasoning."""

_WITHOUT_STATUS = (CustomToolCall, CustomToolCallOutput)

_CREATED = (*CALLS, *HostedItem.__args__)
"""Items that can follow reasoning, in addition to a message."""


def to_responses(
    request: CreateResponse,
    items: Sequence[InputItem],
    dialect: Dialect,
    refused: frozenset[str] = frozenset(),
    *,
    unseal: Unseal = nothing,
    origin: str = "",
    files: ReadFiles | None = None,
) -> Body:
    """Return the body of the Responses request that is equivalent to `request`, about the
    conversation `items`.

    `refused` holds what this backend's errors taught before (`refused_field`); `unseal` opens the
    state that a client stores for us; the state with this `origin` is the backend's own (none if it
    is empty). Raises `ClientError` for an `item_reference`, which the history resolves before.
    `files` are those that were read for the request: a `file_id` of this server becomes the file's
    data; `UnreadFile` is raised if it must be read first.
    """
    request = configured(request, items)
    if isinstance(request, PromptedRequest):
        items = [*request.opening, *items]
    body: Body = {"model": request.model, "input": _input(items, dialect, unseal, origin, files)}
    for name in sorted(HINTS | NEEDED):
        value = plain(getattr(request, name))
        if value is None or (name == "stream" and not value):
            continue
        if name not in refused:
            body[name] = value
        elif name in NEEDED:
            raise unsupported(name)
    if body.get("max_output_tokens", LEAST_OUTPUT) < LEAST_OUTPUT:
        body["max_output_tokens"] = LEAST_OUTPUT  # of another API, in which 1 is allowed
    if isinstance(request, LocalRequest):
        body |= request.parameters
    include = body.get("include", [])
    if SEALED not in refused:
        body["include"] = [*include, *({SEALED} - set(include))]
    return body | {"store": False}


def refused_field(
    status: int, body: bytes, sent: Mapping[str, Any], requested: Sequence[str] | None
) -> str | None:
    """Return what to omit in a retry, None if the error is about something else.

    `body` is the error as received, `sent` the request and `requested` the client's own `include`.
    """
    name = named_parameter(status, body, sent)
    if name == "include" and SEALED not in (requested or ()):
        return SEALED
    return name if name in HINTS else None


def extras(request: CreateResponse, items: Iterable[InputItem]) -> frozenset[str]:
    """Return the types of tools and items that a server with a Responses API can still reject."""
    return (
        frozenset(str(one.__struct_config__.tag) for one in (*(request.tools or ()), *items))
        - USUAL
    )


def field_of(name: str) -> str | None:
    """Return the client's field that a backend means by `name`, or by a path; Chat calls `input`
    `messages`.
    """
    first = name.partition("[")[0].partition(".")[0]
    if first in ("input", "messages"):
        return "input"  # positions in the whole history are not the client's
    return name if first in HINTS | NEEDED | {"model"} else None


RENAMES: Mapping[Api, Callable[[str], str | None]] = {
    "chat": responses_parameter,
    "responses": field_of,
}
"""The client's names for the fields in a backend's errors, for each API of backends."""


def countable(body: Body) -> Body:
    """Return the request in the form in which `chat.estimate` counts."""
    texts = [{"content": body["instructions"]}] if body.get("instructions") else []
    form = (body.get("text") or {}).get("format")
    return {
        "messages": [*texts, *body["input"]],
        "tools": body.get("tools", []),
        **({"response_format": form} if form else {}),
    }


def plain(value: Any, files: ReadFiles | None = None) -> Any:
    """Return a value of the protocol as JSON, without its nulls; a file of this server as its
    data.
    """
    if isinstance(value, Struct):
        if files is not None and isinstance(value, InputFile) and value.file_id:
            return _sent_file(value, files)
        stated: Body = {"type": value.__struct_config__.tag} if value.__struct_config__.tag else {}
        for name, reported_as in zip(
            value.__struct_fields__, value.__struct_encode_fields__, strict=True
        ):
            each = getattr(value, name)
            if each is not None and each is not UNSET:
                stated[reported_as] = plain(each, files)
        return stated
    return [plain(each, files) for each in value] if isinstance(value, list) else value


def _sent_file(part: InputFile, files: ReadFiles) -> Body:
    file = files.find(part, "data")
    if file.error is not None:
        if file.error.param == PAST:
            return {"type": "input_text", "text": DELETED}
        raise file.error
    more = {"detail": part.detail} if part.detail else {}
    return {"type": "input_file", "filename": file.name, "file_data": file.data, **more}


# The conversation.


def _input(
    items: Sequence[InputItem],
    dialect: Dialect,
    unseal: Unseal,
    origin: str,
    files: ReadFiles | None,
) -> list[Body]:
    stored = (item for _, item in remembered(items) if not isinstance(item, ConfigurationUpdate))
    ran = frozenset(
        item.call_id for item in items if type(item) is ShellCallOutput and item.encrypted_content
    )
    displayed = [one for item in stored for one in _without_container(item, unseal, ran)]
    stated: list[Body] = []
    is_followed = False
    for item in reversed(displayed):
        if not isinstance(item, Reasoning):
            is_followed = _is_created(item)
            stated.append(_stated(item, unseal, files))
        elif is_followed and (thought := _reasoning(item, dialect, unseal, origin)):
            stated.append(thought)
    return stated[::-1]


def _without_container(item: InputItem, unseal: Unseal, ran: frozenset[str]) -> list[InputItem]:
    """Return items of this server's runs without their container, which no backend knows: code as a
    function call and output.

    `ran` are the calls of shells that this server ran.
    """
    if type(item) is ShellCall and item.call_id in ran:
        return [replace(item, environment=UNSET)]
    if type(item) is not CodeInterpreterCall or not state_of(item, unseal):
        return [item]
    created = rendered_call(item, unseal, Approvals())
    if created is None:
        return []
    call = FunctionCall(
        call_id=created.call.call_id, name=created.call.name, arguments=created.call.arguments
    )
    return [call, created.output]


def _is_created(item: InputItem) -> bool:
    """Whether this resulted from the reasoning before it.

    Reasoning without a result is rejected (section 13).
    """
    return isinstance(item, _CREATED) or (isinstance(item, Message) and item.role == "assistant")


def _stated(item: InputItem, unseal: Unseal, files: ReadFiles | None) -> Body:
    if isinstance(item, ItemReference):
        raise ClientError(f"Item with id '{item.id}' not found.", status=404, param="input")
    if isinstance(item, Compaction):
        return _item(summary(recount(item, unseal)), files)
    return _item(item, files)


def _item(item: InputItem, files: ReadFiles | None) -> Body:
    if (
        isinstance(item, ImageGenerationCall)
        and item.result
        and item.result.startswith(STORED_FIELDS)
    ):
        text = (
            "[An image was made here, which is not shown: "
            f"{item.revised_prompt or 'without a prompt'}]"
        )
        return {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }
    stated: Body = {
        name: value for name, value in plain(item, files).items() if name not in _UNKNOWN_THERE
    }
    is_answer = isinstance(item, Message) and item.role == "assistant"
    if not isinstance(item, Reasoning):
        stated.pop("encrypted_content", None)
    if not (is_answer or isinstance(item, _WITH_ID)) or len(str(stated.get("id"))) > LONGEST_ID:
        stated.pop("id", None)
    if len(stated.get("call_id") or "") > MAX_CALL_ID:
        stated["call_id"] = shortened(stated["call_id"])
    if isinstance(item, LocalShellCallOutput):
        stated = stated | {"id": tie(item)}
        stated.pop("call_id", None)
    if (isinstance(item, Message) and not is_answer) or isinstance(item, _WITHOUT_STATUS):
        stated.pop("status", None)
    if isinstance(item, CustomToolCallOutput):
        stated.pop("name", None)
    if isinstance(item, Message):
        stated["content"] = (
            [_part(part) for part in stated["content"]] if is_answer else stated["content"]
        )
    return stated


def _part(part: Body) -> Body:
    return {name: value for name, value in part.items() if name not in _UNKNOWN_THERE}


def _reasoning(item: Reasoning, dialect: Dialect, unseal: Unseal, origin: str) -> Body | None:
    """Return the backend's own reasoning; another's as text, if this backend reads text; otherwise
    nothing.
    """
    state = unseal(item.encrypted_content) if item.encrypted_content else {}
    native = state.get("native")
    is_its_own = origin != "" and (state.get("family"), state.get("origin")) == (
        dialect.name,
        origin,
    )
    if is_its_own and isinstance(native, dict):
        return {"type": "reasoning", "summary": plain(item.summary), **native}
    text = "\n\n".join(part.text for part in item.content or ()) or plain_text(
        state.get("reasoning")
    )
    if not text or dialect.replay == "never":
        return None
    content = [{"type": "reasoning_text", "text": text}]
    return {"type": "reasoning", "id": item.id, "summary": [], "content": content}
