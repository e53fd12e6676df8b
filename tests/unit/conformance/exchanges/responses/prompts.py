"""Prompts."""

from typing import Any

from antiphon_verify.areas.responses import prompts
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled
from tests.unit.conformance.exchanges.bodies import MESSAGE, RESPONSE
from tests.unit.conformance.exchanges.responses.files import instead

PROMPT: dict[str, Any] = prompts.ADA | {
    "id": "pmpt_1",
    "object": "prompt",
    "created_at": 1_790_000_000,
    "version": 1,
    "is_default": True,
    "variables": ["visitor"],
}

MADE = says(PROMPT)
SECOND = says(PROMPT | prompts.DOCTOR | {"version": 2})
LIST = says({"object": "list", "data": [PROMPT]})
VERSIONS = says({"object": "list", "data": [PROMPT | {"version": 2}, PROMPT]})
DELETED = says({"id": "pmpt_1", "object": "prompt.deleted", "deleted": True})
UNKNOWN = error(f"Prompt with id '{prompts.UNKNOWN}' not found.", 404)
MISSING = error("Missing value for the variable 'visitor'.", 400, "missing_required_parameter", "prompt.variables")
INVALID = error("Invalid 'prompt'.")


def said(text: str, **prompt: Any) -> Answer:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return says(RESPONSE | {"output": [MESSAGE | {"content": [part]}], "prompt": prompt})


ADA = said("Your name is Ada.", id="pmpt_1", version=None, variables={"visitor": "Ada"})
UNUSED = said("I do not know.", id="pmpt_1", variables={"visitor": "Ada"})
BRACES = said("Your name is {{place}}.", id="pmpt_1", variables={"visitor": "{{place}}"})

LIFE = [MADE, MADE, LIST, DELETED, UNKNOWN]
VERSIONED = [MADE, SECOND, MADE, VERSIONS, ADA, MADE, MADE, DELETED]
USED = [MADE, ADA, BRACES, DELETED]
REJECTED = [MADE, MISSING, INVALID, error("Prompt with id 'pmpt_1' and version '99' not found.", 404), DELETED]

EXCHANGES: dict[str, Shown] = {
    **shown(
        prompts.a_prompt_lives,
        LIFE,
        {
            "responses:prompts:created": instead(LIFE, 0, MADE.patched("version", to=0)),
            "responses:prompts:object": instead(LIFE, 0, MADE.without("variables")),
            "responses:prompts:retrieved": instead(LIFE, 1, MADE.patched("id", to="pmpt_2")),
            "responses:prompts:listed": instead(LIFE, 2, LIST.patched("data", to=[])),
            "responses:prompts:deleted": instead(LIFE, 4, MADE),
        },
    ),
    **shown(
        prompts.a_prompt_has_versions,
        VERSIONED,
        {
            "responses:prompts:version-added": instead(VERSIONED, 1, MADE),
            "responses:prompts:version-kept": instead(VERSIONED, 2, SECOND),
            "responses:prompts:versions": instead(VERSIONED, 3, LIST),
            "responses:prompts:pinned": instead(VERSIONED, 4, said("Your name is Doctor Ada.")),
            "responses:prompts:default-version": instead(VERSIONED, 6, SECOND),
        },
    ),
    **shown(
        prompts.a_prompt_is_used,
        USED,
        {
            "responses:prompts:echoed": instead(USED, 1, ADA.patched("prompt", to=None)),
            "responses:prompts:used": instead(
                USED, 1, said("I do not know.", id="pmpt_1", variables={"visitor": "Ada"})
            ),
            "responses:prompts:literal": instead(USED, 2, MISSING),
        },
    ),
    **shown(
        prompts.bad_uses_of_a_prompt_are_rejected,
        REJECTED,
        {
            "responses:prompts:missing-variable": instead(REJECTED, 1, ADA),
            "responses:prompts:missing-variable-named": instead(REJECTED, 1, INVALID),
            "responses:prompts:other-variable": instead(REJECTED, 2, ADA),
            "responses:prompts:unknown-version": instead(REJECTED, 3, ADA),
        },
    ),
    **spoiled(prompts.an_unknown_prompt_is_not_found, [UNKNOWN], [ADA]),
    **spoiled(prompts.a_prompt_is_an_object, [INVALID], [ADA]),
}
