"""`/models`."""

from antiphon_verify.areas.responses.models import (
    an_unknown_model_is_not_found,
    codex_reads_the_models,
    models_are_listed,
    one_model_is_described,
)
from tests.unit.conformance.exchanges import MODEL, error, says, shown

ENTRY = {"id": MODEL, "object": "model", "created": 1, "owned_by": "antiphon"}
CODEX_ENTRY = {
    "slug": MODEL,
    "display_name": MODEL,
    "base_instructions": "Be brief.",
    "shell_type": "default",
    "visibility": "list",
    "priority": 0,
    "supported_in_api": True,
    "support_verbosity": False,
    "supported_reasoning_levels": [],
    "experimental_supported_tools": [],
    "truncation_policy": {"mode": "tokens", "limit": 10_000},
}
LIST = says({"object": "list", "data": [ENTRY]})

EXCHANGES = {
    **shown(
        models_are_listed,
        [LIST],
        {
            "responses:models:list": [LIST.without("object")],
            "responses:models:entry": [LIST.patched("data", 0, "object", to="thing")],
            "responses:models:created": [LIST.without("data", 0, "created")],
            "responses:models:asked": [LIST.patched("data", 0, "id", to="another")],
            "responses:models:only-list": [LIST.patched("models", to=[])],
        },
    ),
    **shown(
        codex_reads_the_models,
        [LIST.patched("models", to=[CODEX_ENTRY])],
        {"responses:models:codex-catalog": [LIST.patched("models", to=[CODEX_ENTRY | {"slug": "another"}])]},
    ),
    **shown(one_model_is_described, [says(ENTRY)], {"responses:models:one": [says(ENTRY | {"id": "another"})]}),
    **shown(
        an_unknown_model_is_not_found,
        [error("The model 'no-such-model' does not exist.", 404, "model_not_found", "model")],
        {"responses:models:unknown": [says(ENTRY)]},
    ),
}
