"""The description of prompts in `/openapi.json`."""

from collections.abc import Sequence

from antiphon.protocol.prompts import (
    NewPromptVersion,
    PromptQuery,
    PromptsQuery,
    PromptTemplate,
    SetDefaultVersion,
)
from antiphon.server.resources.openapi_console import Described

ONE = "/v1/prompts/{prompt_id}"

PROMPTS: Sequence[Described] = (
    Described("post", "/v1/prompts", "Create a prompt", PromptTemplate),
    Described("get", "/v1/prompts", "List prompts", query=PromptsQuery),
    Described("get", ONE, "Get a prompt", query=PromptQuery),
    Described("post", ONE, "Add a version to a prompt", NewPromptVersion),
    Described("delete", ONE, "Delete a prompt with all versions"),
    Described("get", f"{ONE}/versions", "List the versions of a prompt", query=PromptsQuery),
    Described(
        "post", f"{ONE}/default_version", "Set the default version of a prompt", SetDefaultVersion
    ),
)
"""Every endpoint of prompts."""
