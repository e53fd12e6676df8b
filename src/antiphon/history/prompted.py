"""Resolves a request that names a prompt: fills in the prompt's messages and variables.

This is done once, before anything is reserved for the request: a background response is queued as
resolved.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import asdict

from antiphon.errors import ClientError
from antiphon.protocol.items.content import ContentPart, InputText
from antiphon.protocol.items.messages import InputItem, Message
from antiphon.protocol.prompts import PromptTemplate, defaults_of
from antiphon.protocol.requests import (
    CreateResponse,
    LocalRequest,
    PromptedRequest,
    PromptParam,
    opening_of,
)
from antiphon.protocol.templates import PATH, fill
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.rules import check_request
from antiphon.storage.records.prompts import StoredPrompt

LONGEST = 9
"""Maximum digits of a version number."""

_decode = msgspec.json.Decoder(PromptTemplate).decode


@dataclass(frozen=True, slots=True)
class SettingsPrompt:
    """A prompt of the settings: one version, for all tenants, which clients cannot change."""

    version: int
    template: PromptTemplate


def as_stored(prompt_id: str, named: SettingsPrompt) -> StoredPrompt:
    """Return a prompt of the settings in the form of a stored one."""
    return StoredPrompt(prompt_id, "", named.version, True, 0, msgspec.json.encode(named.template))


def number_of(version: str) -> int:
    """Return the number of a version; 0, which no version has, for any other text."""
    return (
        int(version) if version.isascii() and version.isdecimal() and len(version) <= LONGEST else 0
    )


def template_of(stored: StoredPrompt) -> PromptTemplate:
    """Return the template of a stored version."""
    return _decode(stored.template)


def unknown_prompt(prompt_id: str, version: str | None = None) -> ClientError:
    """Return the error for a prompt, or a version, that does not exist (specification of hosted
    tools, section 11).
    """
    which = "" if version is None else f" and version '{refusals.quoted(version)}'"
    return ClientError(
        f"Prompt with id '{refusals.quoted(prompt_id)}'{which} not found.", status=404
    )


def merged(
    request: CreateResponse, prompt: PromptParam, template: PromptTemplate
) -> PromptedRequest:
    """Return the request with the fields of a prompt that it does not set itself.

    Raises `ClientError` (400).
    """
    instructions, opening = fill(template, prompt)
    fields = asdict(request)
    for name, value in (defaults_of(template) | {"instructions": instructions}).items():
        if fields[name] is None:
            fields[name] = value
    fields["model"] = request.model or template.model or ""
    if not fields["model"]:
        raise refusals.missing("model")
    has_history = request.previous_response_id is not None or request.conversation is not None
    if not (request.input or opening or has_history):
        text = f"The prompt '{prompt.id}' has no messages, so the request needs an 'input'."
        raise ClientError(text, code="missing_required_parameter", param="input")
    resolved = PromptedRequest(**fields, opening=opening)
    check_request(resolved)
    return resolved


def encode_resolved(request: PromptedRequest) -> bytes:
    """Return a resolved request as the JSON that `restore` reads."""
    body: dict[str, Any] = msgspec.to_builtins(request)
    return msgspec.json.encode(body.pop("parameters") | body)


def restore(request: CreateResponse) -> CreateResponse:
    """Return a decoded request as it was resolved: its messages were stored as an additional
    parameter.
    """
    if request.prompt is None or not isinstance(request, LocalRequest):
        return request
    fields = asdict(request)
    parameters = dict(fields.pop("parameters"))
    opening = msgspec.convert(parameters.pop("opening", []), list[Message])
    return PromptedRequest(**fields, parameters=parameters, opening=opening)


def path_in_prompt(request: CreateResponse, part: ContentPart) -> str | None:
    """Return the origin of a part of the prompt's messages, as errors name it; None for another
    part.
    """
    opening = opening_of(request)
    if request.prompt is None or not any(
        part is one for message in opening for one in message.content
    ):
        return None
    variables = (request.prompt.variables or {}).items()
    return next((f"{PATH}.{name}" for name, value in variables if value is part), "prompt")


def echoed(request: CreateResponse) -> dict[str, Any]:
    """Return the fields in which a response repeats its prompt: messages are in `instructions`, as
    in OpenAI's.
    """
    fields: dict[str, Any] = {"prompt": msgspec.to_builtins(request.prompt)}
    if opening := opening_of(request):
        instructions: list[InputItem] = [*opening]
        if request.instructions:
            instructions.insert(0, _developer(request.instructions))
        fields["instructions"] = instructions
    return fields


def _developer(text: str) -> Message:
    return Message(role="developer", content=[InputText(text=text)])
