"""What a request of another API asks of a backend, and the Responses API cannot say."""

from typing import Any

from antiphon.errors import ClientError
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.to_chat_completions.tokens import request_tokens

Body = dict[str, Any]

NO_PREFILL = (
    "This model does not support assistant message prefill. The conversation must end with a user "
    "message."
)
"""The words of Anthropic's models that do not."""

LEAST = 1024
"""Tokens that an answer can have at least, although the prompt seems to fill the window."""

MARGIN = 8
"""Fraction of a prompt, one eighth, by which it can be longer than it was estimated."""

CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""The names of the output limit in all APIs of backends."""


def continue_text(body: Body, dialect: Dialect | None) -> None:
    """Have the model continue the assistant's text at the end of a Chat request.

    Without a `dialect`, or if backends of this family do not continue texts, raise `ClientError`.
    """
    form = dialect.prefill if dialect is not None else ""
    if not form:
        raise ClientError(NO_PREFILL, code="unsupported_value")
    if form == "continue":
        body["add_generation_prompt"] = False
        body["continue_final_message"] = True
    elif form == "prefix":
        body["messages"][-1] = {**body["messages"][-1], "prefix": True}


def output_cap(body: Body) -> int | None:
    """Return the limit of the output that a request has, None without one."""
    return next((body[name] for name in CAPS if name in body), None)


def limit_output(body: Body, window: int | None, *limits: int | None) -> None:
    """Allow no more tokens of output than the model's `window` has room for, and no more than any
    of the `limits`: clients of other APIs name the limit of another model. None is unknown.
    """
    for name in CAPS:
        if name in body:
            if window is not None:
                size = request_tokens(body)
                body[name] = min(body[name], max(LEAST, window - size - size // MARGIN))
            for most in limits:
                if most is not None and body[name] > most:
                    body[name] = most
