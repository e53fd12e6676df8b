"""Converts the bytes of a request to `/prompts` into typed data, or into the one error that
describes the problem.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from antiphon.errors import ClientError
from antiphon.protocol.prompts import (
    NewPromptVersion,
    PromptQuery,
    PromptsQuery,
    PromptTemplate,
    SetDefaultVersion,
    defaults_of,
)
from antiphon.protocol.requests import CreateResponse, PromptParam
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.queries import decode_query
from antiphon.protocol.validation.rules import check_items, check_request
from antiphon.protocol.validation.validate import decode_object, fit, normalize, type_items

Params = Mapping[str, Sequence[str]]
T = TypeVar("T", bound=PromptTemplate)

MOST_TEMPLATE = 256 * 1024
"""Highest size of a template in bytes: it is decoded and filled in some milliseconds."""


def decode_prompt(body: bytes) -> PromptTemplate:
    """Return the body of `POST /prompts`. Raises `ClientError` (400)."""
    return read_template(_decoded(body), PromptTemplate)


def decode_new_version(body: bytes) -> NewPromptVersion:
    """Return the body of `POST /prompts/{id}`. Raises `ClientError` (400)."""
    return read_template(_decoded(body), NewPromptVersion)


def decode_default_version(body: bytes) -> int:
    """Return the number in the body of `POST /prompts/{id}/default_version`.

    Raises `ClientError` (400).
    """
    version = fit(decode_object(body), SetDefaultVersion).version
    if isinstance(version, str):
        if not (version.isascii() and version.isdecimal()):
            raise refusals.invalid(
                "version", f"'{refusals.quoted(version)}'. Expected the number of a version."
            )
        return int(version)
    return version


def decode_prompt_query(params: Params) -> PromptQuery:
    """Return the query of `GET /prompts/{id}`. Raises `ClientError` (400)."""
    return decode_query(params, PromptQuery)


def decode_prompts_query(params: Params) -> PromptsQuery:
    """Return the query of a list of prompts, or of versions. Raises `ClientError` (400)."""
    return decode_query(params, PromptsQuery)


def read_template(data: dict[str, Any], cls: type[T]) -> T:
    """Return plain data as a template. Raises `ClientError` (400) for the first thing wrong."""
    if type(messages := data.get("messages")) is list:
        type_items(messages)
    if type(defaults := data.get("defaults")) is dict:
        normalize(defaults)
    template = fit(data, cls)
    if template.instructions is None and not template.messages:
        text = "A prompt needs 'instructions', 'messages', or both."
        raise ClientError(text, code="missing_required_parameter", param="instructions")
    check_items(template.messages or [], "messages")
    example = PromptParam(id="pmpt_example")
    check_request(CreateResponse(model="", input="-", prompt=example, **defaults_of(template)))
    return template


def _decoded(body: bytes) -> dict[str, Any]:
    if len(body) > MOST_TEMPLATE:
        text = f"A prompt can have at most {MOST_TEMPLATE:,} bytes, and this one has {len(body):,}."
        raise ClientError(text, status=413, code="request_too_large")
    return decode_object(body)
