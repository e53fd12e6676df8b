"""An operator's defaults for a model, added to requests that do not set them."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse, LocalRequest, ReasoningConfig
from antiphon.translation.dialects.dialect import PENALTIES, SAMPLING, Api
from antiphon.translation.to_chat_completions.request import RESERVED, Body, configured

ALLOWED = SAMPLING | PENALTIES
"""Parameters of the Responses API for which a model can have a default."""


class ModelDefaults(Struct, frozen=True, kw_only=True):
    """The defaults of each request to a model. Values from the client take precedence."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Chat parameters by name: sampling, `stop`, `chat_template_kwargs`, and others that the
    backend knows.
    """
    system_prompt: str = ""
    """Precedes the request's instructions."""
    effort: str | None = None
    """The effort of a request without one."""
    efforts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By effort: the Chat parameters that it means, such as a budget of tokens for reasoning."""

    @property
    def digest(self) -> str:
        """A short digest that changes with the configuration."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:16]

    def complete(self, request: CreateResponse, items: Sequence[InputItem]) -> CreateResponse:
        """Return the request about this conversation with the model's system prompt and its
        effort.
        """
        request = configured(request, items)
        changes: dict[str, Any] = {}
        if self.system_prompt:
            own = request.instructions
            changes["instructions"] = (
                f"{self.system_prompt}\n\n{own}" if own else self.system_prompt
            )
        reasoning = request.reasoning or ReasoningConfig()
        if self.effort is not None and reasoning.effort is None:
            changes["reasoning"] = replace(reasoning, effort=self.effort)
        return replace(request, **changes) if changes else request

    def fill(
        self, body: Body, request: CreateResponse, refused: frozenset[str], api: Api = "chat"
    ) -> None:
        """Add to the body of a completed request the defaults that neither the client nor the
        translation has set.

        `refused` holds the parameters that the backend rejected; they are omitted. The parameters
        of an effort replace those that the dialect derived from that effort, and never those that
        the client wrote.
        """
        own = request.parameters if isinstance(request, LocalRequest) else {}
        effort = request.reasoning.effort if request.reasoning else None
        for name, value in self.efforts.get(effort or "", {}).items():
            if _is_sent(name, refused, api) and name not in own:
                body[name] = _merged(body.get(name), value)
        for name, value in self.parameters.items():
            if _is_sent(name, refused, api) and (
                name not in ALLOWED or getattr(request, name) is None
            ):
                body[name] = _merged(value, body[name]) if name in body else value


def combined(first: ModelDefaults | None, second: ModelDefaults | None) -> ModelDefaults | None:
    """Return both defaults together; the second takes precedence."""
    if first is None or second is None:
        return second or first
    return ModelDefaults(
        parameters={
            name: _merged(first.parameters.get(name), value)
            for name, value in second.parameters.items()
        }
        | {
            name: value for name, value in first.parameters.items() if name not in second.parameters
        },
        system_prompt=second.system_prompt or first.system_prompt,
        effort=second.effort or first.effort,
        efforts={**first.efforts, **second.efforts},
    )


def flaw(name: str) -> str:
    """Return why a parameter cannot have a default; empty if it can."""
    if name in RESERVED and name not in ALLOWED:
        return f"`{name}` is set by Antiphon itself"
    return ""


def _is_sent(name: str, refused: frozenset[str], api: Api) -> bool:
    """A backend's own Responses API receives only parameters of that API."""
    return name not in refused and (api == "chat" or name in ALLOWED)


def _merged(below: Any, above: Any) -> Any:
    """Return `above`, with the members of `below` that it lacks if both are objects."""
    return {**below, **above} if isinstance(below, dict) and isinstance(above, dict) else above
