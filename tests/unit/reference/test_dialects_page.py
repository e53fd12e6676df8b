"""The page of dialects says what the table in the source says, row by row.

The page is not written by hand: where a row differs, the failure shows the right one.
"""

from antiphon.translation.dialects.dialect import USUAL, Dialect
from antiphon.translation.dialects.table import DIALECTS
from tests.support.pages import REFERENCE

TOLD_BY = {"hosts": "", "ports": "port ", "owners": "`owned_by` ", "servers": "`server` "}
EFFORT_FORMS = {
    "reasoning_effort": "`reasoning_effort`",
    "reasoning": "`reasoning.effort`",
    "thinking": "`thinking` and `reasoning_effort`",
    "enable_thinking": "`enable_thinking`",
    "chat_template_kwargs": "`chat_template_kwargs` and `reasoning_effort`",
}
BESIDES = {
    "one_at_a_time": "one thing at a time",
    "streams_hide_errors": "streams hide errors",
    "parses_arguments": "arguments are parsed",
    "prefix_cache": "keeps prompts",
    "checks_answers": "answers are checked",
    "unfit": "weaker schemas",
    "cuts_prompts": "prompts are cut",
}
TOOLS: dict[str, list[str]] = {"native": [], "prompt": ["tools in the prompt"], "schema": ["tools in the prompt, JSON"]}
REPLAYS = {"tool_turns": "of turns with calls", "always": "of every turn"}
APIS = {"chat": "Chat", "responses": "Responses", "probe": "asks"}
CHOICES = {"full": "all", "named": "modes, a function", "functions": "`none`, `auto`, a function", "strings": "modes"}


def row_of(dialect: Dialect) -> str:
    cells = (
        f"`{dialect.name}`",
        ", ".join(word + f"`{value}`" for name, word in TOLD_BY.items() for value in getattr(dialect, name)),
        APIS[dialect.api],
        f"`{dialect.max_tokens}`",
        EFFORT_FORMS.get(dialect.effort, ""),
        reasoning_of(dialect),
        CHOICES[dialect.tool_choice] if "tool_choice" in dialect.accepts else "",
        "yes" if dialect.text_calls else "",
        ", ".join(f"`{name}`" for name in sorted(dialect.json_formats)) if "response_format" in dialect.accepts else "",
        "yes" if dialect.patterns else "",
        f"`{dialect.file_part}`" if dialect.file_part else "",
        ", ".join(f"`{name}`" for name in sorted(USUAL - dialect.accepts)),
        ", ".join(f"`{name}`" for name in sorted(dialect.passthrough)),
        ", ".join([*(words for name, words in BESIDES.items() if getattr(dialect, name)), *TOOLS[dialect.tools]]),
    )
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def reasoning_of(dialect: Dialect) -> str:
    if dialect.replay == "never":
        return "never"
    place = {"": "signed only", "think_tags": "in `<think>` tags", "thinking": "as thinking parts"}
    return f"{place.get(dialect.reasoning, f'`{dialect.reasoning}`')}, {REPLAYS[dialect.replay]}"


def test_every_dialect_has_its_row_and_every_row_its_dialect() -> None:
    page = (REFERENCE / "dialects.md").read_text().splitlines()
    rows = [line for line in page if line.startswith("| `")]
    right = [row_of(dialect) for dialect in DIALECTS.values()]
    assert rows == right, "The rows of dialects.md are now to be:\n" + "\n".join(right)
