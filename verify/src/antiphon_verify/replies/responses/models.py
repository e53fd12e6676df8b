"""`/models`."""

from antiphon_verify.replies import MODEL, states

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
LIST = states({"object": "list", "data": [ENTRY]})
