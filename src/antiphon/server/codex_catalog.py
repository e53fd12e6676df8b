"""The model catalog that Codex reads, from `GET /v1/models?client_version=…` or from its
`model_catalog_json`.

Found by trial with Codex 0.169: it rejects the whole catalog if an entry lacks `slug`,
`display_name`, `supported_reasoning_levels`, `shell_type`, `visibility`, `supported_in_api`,
`priority`, `support_verbosity`, `truncation_policy` or `experimental_supported_tools`, or has
neither `base_instructions` nor a template of them. Older versions also require
`supports_reasoning_summaries`, `supports_parallel_tool_calls` and `base_instructions`.
"""

from collections.abc import Iterable, Mapping

from antiphon.gateway import JsonObject

INSTRUCTIONS = """\
You are a coding agent. You run in Codex, in the user's terminal, and you work in the user's folder with your tools. \
Keep working until the task is done; do not stop to ask for what you can find out yourself.

How to work:
1. Read first. List and search the files with `exec_command` (`ls`, `rg`, `sed -n`), and read what you will change.
2. Make the smallest change that solves the task at its cause, in the style of the code around it. Do not fix \
anything else.
3. Check the change: run the project's tests, or the program itself, and correct what fails.
4. End with a short message that says what you changed and how you checked it. Do not repeat whole files in it.

Rules:
- If a call needs the result of another, wait for that. Never invent the result of a command or the text of a file.
- If a call fails, read its error and try something else; do not repeat the same call.
- Edit files with `apply_patch`. Paths are relative to the folder. A line of context begins with a space, a removed \
line with `-`, an added line with `+`:

*** Begin Patch
*** Update File: src/greet.py
@@ def greet(name):
     "\""Return a greeting."\""
-    return "Hi " + name
+    return f"Hello {name}"
*** End Patch

`*** Add File: PATH`, with only `+` lines after it, makes a file, and `*** Delete File: PATH` deletes one.
- Obey the `AGENTS.md` files of the folders that you work in, and the user before them.
- Do not commit, delete or install anything that the task does not need.
- A question that needs no work gets an answer and no tool call.
"""  # noqa: E501 - the lines of a text
"""The instructions of each model, which Codex requires. Codex's own are written for OpenAI's models
and eleven times as long, more than a small model or a small window can use.
"""

EFFORTS = {
    "low": "Little reasoning, fast answers",
    "medium": "Some reasoning",
    "high": "Much reasoning, for hard problems",
}

LONGEST_OUTPUT = 10_000
"""Tokens of a tool's output that Codex keeps, as for OpenAI's models."""

SHARE_OF_OUTPUT = 8
"""The fraction of a window that one tool's output can take, as a divisor."""


DESCRIPTION = "Served by Antiphon."
"""The description of a model about which no more is known."""


def catalog(
    models: Iterable[tuple[str, int | None, bool | None]], verdicts: Mapping[str, str] | None = None
) -> list[JsonObject]:
    """Return the entries of these models.

    Each is a name, its context window in tokens and whether it sees images; these two are None if
    unknown. A model receives images unless it is known to accept none. `verdicts` has the sentence
    about whether agents can use a model, by its name, if that was measured.
    """
    known = verdicts or {}
    return [
        _entry(*model, place, known.get(model[0]) or DESCRIPTION)
        for place, model in enumerate(models)
    ]


def _entry(
    model: str, window: int | None, vision: bool | None, place: int, description: str
) -> JsonObject:
    longest = LONGEST_OUTPUT if window is None else min(LONGEST_OUTPUT, window // SHARE_OF_OUTPUT)
    entry: JsonObject = {
        "slug": model,
        "display_name": model,
        "description": description,
        "base_instructions": INSTRUCTIONS,
        # Without a default level, Codex sends an effort only if its user chose one.
        "supported_reasoning_levels": [
            {"effort": name, "description": EFFORTS[name]} for name in EFFORTS
        ],
        "supports_reasoning_summaries": True,
        "support_verbosity": False,
        "shell_type": "unified_exec",
        "apply_patch_tool_type": "freeform",
        # Subagents and MCP tools are found by a search: half of the tokens
        # that their definitions take.
        "supports_search_tool": True,
        "supports_parallel_tool_calls": True,
        "experimental_supported_tools": [],
        "truncation_policy": {"mode": "tokens", "limit": longest},
        "input_modalities": ["text"] if vision is False else ["text", "image"],
        "visibility": "list",
        "supported_in_api": True,
        "priority": place,
        "upgrade": None,
    }
    return entry if window is None else entry | {"context_window": window}
