"""Backends with a Responses API that refuse a chat completion: what their refusal teaches."""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.protocol.chat import error_message
from antiphon.protocol.json_members import decode_value
from antiphon.translation.learned import own_words
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.call import BackendRefusal
from antiphon.upstream.candidates import Candidates

NO_CHAT = "chat_completions"
"""The lesson that a model is not reached through Chat Completions."""

NO_CHAT_TOOLS = "chat_completions.tools"
"""The lesson that it is, but not with tools."""

MISSING = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED})
REFUSED = MISSING | {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}

_RESPONSES = re.compile(
    r"v1/responses|/responses\b|\bresponses api\b|not accessible via the /chat/completions",
    re.IGNORECASE,
)
"""How servers name the API that a model needs (litellm#33221, copilot-api#299)."""

_TOOLS = re.compile(r"\btools?\b|\btool calling\b|\bfunctions?\b|reasoning_effort", re.IGNORECASE)


class RunInsteadError(AntiphonError):
    """A backend refused a chat completion that it can answer as a response."""


def lesson_of(refusal: BackendRefusal, model: str, *, has_tools: bool) -> str | None:
    """Return what a refusal teaches; None if it is about something else."""
    if refusal.status not in REFUSED:
        return None
    text = error_message(decode_value(refusal.body)) if refusal.body else ""
    if _RESPONSES.search(text):
        return NO_CHAT_TOOLS if has_tools and _TOOLS.search(text) else NO_CHAT
    is_missing = refusal.status in MISSING and refusal.error.code != "model_not_found"
    return NO_CHAT if is_missing and model not in text else None


def learn(target: ModelTarget, request: Mapping[str, Any], refusal: BackendRefusal) -> bytes | None:
    """Raise `RunInsteadError` if the request can be a response, after the lesson is learned; else
    the error of the refusal.
    """
    if target.api == "responses" and target.chat_completions != "forward":
        lesson = lesson_of(refusal, target.model, has_tools=bool(request.get("tools")))
        if lesson is not None:
            target.learn(lesson, own_words(refusal.body, request))
            raise RunInsteadError(refusal.error.message)
    raise refusal.error


def takes_chat(target: ModelTarget, request: Mapping[str, Any]) -> bool:
    """Whether a request can be forwarded to a backend."""
    if target.chat_completions == "run" or target.state.messages is not None:
        return False
    if target.chat_completions == "forward":
        return True
    refused = target.lessons.refused
    return NO_CHAT not in refused and not (NO_CHAT_TOOLS in refused and request.get("tools"))


def forwardable(candidates: Candidates, request: Mapping[str, Any]) -> Candidates | None:
    """Return the backends to which a request can be forwarded; None if none of the model's own."""
    able = [target for target in candidates if takes_chat(target, request)]
    if not _has_own(able, candidates[0].name):
        return None
    return candidates if len(able) == len(candidates) else Candidates.of(able, candidates.preset)


def _has_own(targets: Iterable[ModelTarget], name: str) -> bool:
    return any(target.name == name for target in targets)
