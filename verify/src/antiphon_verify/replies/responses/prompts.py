"""Prompts."""

from typing import Any

from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.bodies import MESSAGE, RESPONSE

UNKNOWN = "pmpt_" + "0" * 32


def template(text: str) -> dict[str, Any]:
    """Return a template with one message."""
    return {"name": "antiphon verify", "messages": [{"role": "user", "content": text}]}


ADA = template("My name is {{visitor}}.")
DOCTOR = template("My name is Doctor {{visitor}}.")


PROMPT: dict[str, Any] = ADA | {
    "id": "pmpt_1",
    "object": "prompt",
    "created_at": 1_790_000_000,
    "version": 1,
    "is_default": True,
    "variables": ["visitor"],
}

CREATED = states(PROMPT)
SECOND = states(PROMPT | DOCTOR | {"version": 2})
LIST = states({"object": "list", "data": [PROMPT]})
VERSIONS = states({"object": "list", "data": [PROMPT | {"version": 2}, PROMPT]})
DELETED = states({"id": "pmpt_1", "object": "prompt.deleted", "deleted": True})
NOT_FOUND = error(f"Prompt with id '{UNKNOWN}' not found.", 404)
MISSING = error(
    "Missing value for the variable 'visitor'.",
    400,
    "missing_required_parameter",
    "prompt.variables",
)
INVALID = error("Invalid 'prompt'.")


def with_text(text: str, **prompt: Any) -> Reply:
    """Return a response with this text, made with a prompt."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return states(RESPONSE | {"output": [MESSAGE | {"content": [part]}], "prompt": prompt})


RECALLED = with_text("Your name is Ada.", id="pmpt_1", version=None, variables={"visitor": "Ada"})
BRACES = with_text("Your name is {{place}}.", id="pmpt_1", variables={"visitor": "{{place}}"})

LIFE = [CREATED, CREATED, LIST, DELETED, NOT_FOUND]
VERSIONED = [CREATED, SECOND, CREATED, VERSIONS, RECALLED, CREATED, CREATED, DELETED]
USED = [CREATED, RECALLED, BRACES, DELETED]
REJECTED = [
    CREATED,
    MISSING,
    INVALID,
    error("Prompt with id 'pmpt_1' and version '99' not found.", 404),
    DELETED,
]
