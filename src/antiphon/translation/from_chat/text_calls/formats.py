"""The formats in which models write calls as text: one row each, with its evidence.

| A call | begins | ends |
|---|---|---|
| between marks | a line, or right after the text before it | at the closing mark that completes it |
| after a mark that nothing closes | the same | with the answer; text can follow on a new line |
| in a code block, or after a channel | a line | with the answer: any other text after it makes it text |
| without a mark | the answer | with the answer: any other text before or after it makes it text |

Text that begins like a row's `heads` is held back until it ends; other text is sent at once. A head
is compared without whitespace, and `NAME` in it is the name of a tool that can be called.
"""  # noqa: E501 - a table, a diagram or an example

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from antiphon.translation.from_chat.text_calls import (
    json_calls,
    python_calls,
    token_calls,
    xml_calls,
)
from antiphon.translation.from_chat.text_calls.found import Parse

Stand = Literal["token", "line", "answer"]
"""Where a call can begin: at the start of a line or right after text; at the start of a line; as
the whole answer.
"""


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write calls."""

    name: str
    heads: tuple[str, ...]
    parse: Parse
    closing: re.Pattern[str] | None = None
    """What can end it; None if it extends to the end of the answer."""
    stand: Stand = "token"
    stray: str = ""
    """What can follow the closing mark, even if the model omits what it closes."""


LONGEST_CLOSING = 64
"""Characters of a closing mark at most."""

_OBJECTS = (
    '{"name":"NAME"',
    '{"type":"function"',
    '{"function":',
    '{"id":"',
    '{"arguments":{',
    '{"parameters":{',
)
"""How a call in JSON begins."""


def _each(*befores: str, lists: bool = True) -> tuple[str, ...]:
    listed = tuple(f"[{head}" for head in _OBJECTS) if lists else ()
    return tuple(before + head for before in befores for head in _OBJECTS + listed)


_BARS = ("｜", "｜｜", "‖", "‖‖", "|", "||")
"""The bars around DSML: the token's own, and how leaks spell it (GenericAgent#804)."""


def _dsml(*sections: str) -> tuple[str, ...]:
    """Return how a call in DSML begins, in these sections or without one."""
    marks = [f"<{bar}DSML{bar}" for bar in _BARS]
    return tuple(
        f'{mark}{section}>{mark}invokename="NAME"' if section else f'{mark}invokename="NAME"'
        for mark in marks
        for section in sections
    )


_CHANNELS = ("<|channel|>commentaryto=functions.", "<|channel|>analysisto=functions.")

FORMATS = (
    Format(
        # Qwen2.5 and 3, Hermes, Granite 4: their templates. omlx#2565, hermes-agent#58197: it
        # arrives as content.
        "hermes",
        _each("<tool_call>"),
        json_calls.marked("<tool_call>", "</tool_call>"),
        re.compile("</tool_call>"),
    ),
    Format(
        # Qwen3-Coder's template. Qwen3-Coder#475: the model omits `<tool_call>`, but not its end.
        # The model card of Llama 3.1 has the same with a JSON object, which Groq reports
        # (freellmapi PR#291).
        "qwen-coder",
        ("<tool_call><function=NAME>", "<function=NAME>"),
        xml_calls.functions,
        re.compile("</function>"),
        stray="</tool_call>",
    ),
    Format(
        # Seed-OSS: its template; vLLM's `seed_oss` parser.
        "seed-oss",
        ("<seed:tool_call><function=NAME>",),
        xml_calls.functions,
        re.compile("</function>"),
        stray="</seed:tool_call>",
    ),
    Format(
        # GLM-4.5 to 5: sglang#19925 without a parser, vllm-mlx#797; sglang#15333:
        # a tool without arguments.
        "glm",
        ("<tool_call>NAME<arg_key>", "<tool_call>NAME</tool_call>"),
        xml_calls.pairs,
        re.compile("</tool_call>"),
    ),
    Format(
        # DeepSeek V3.2 and V4: minja#11 has the template; opensquilla#985: a leak.
        "dsml",
        _dsml("function_calls", "tool_calls"),
        xml_calls.invokes,
        re.compile(r"</[｜‖|]{1,2}DSML[｜‖|]{1,2}(?:function_calls|tool_calls)>"),
    ),
    Format(
        # sglang#40236: the same without a section.
        "dsml-bare",
        _dsml(""),
        xml_calls.invokes,
        re.compile(r"</[｜‖|]{1,2}DSML[｜‖|]{1,2}invoke>"),
    ),
    Format(
        # MiniMax-M2.5#10, open-webui#24291; the other sections are Claude's form,
        # which models know.
        "invoke",
        tuple(
            f'<{section}><invokename="NAME"'
            for section in ("minimax:tool_call", "function_calls", "tool_calls")
        ),
        xml_calls.invokes,
        re.compile(r"</(?:minimax:tool_call|function_calls|tool_calls)>"),
    ),
    Format(
        # hermes-agent#50279: the same without a section.
        "invoke-bare",
        ('<invokename="NAME"',),
        xml_calls.invokes,
        re.compile("</invoke>"),
    ),
    Format(
        # DeepSeek V3 and R1, V3.1: vllm#23454 compares the two; their templates.
        "deepseek",
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>"),
        token_calls.deepseek,
        re.compile("<｜tool▁calls▁end｜>"),
    ),
    Format(
        # Kimi K2: its tool_call_guidance.md; Kimi-K2#89; llama.cpp#17376: `tool_call_section` in
        # the singular too.
        "kimi",
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>",
            "<|tool_call_section_begin|><|tool_call_begin|>",
            "<|tool_call_begin|>",
        ),
        token_calls.kimi,
        re.compile(r"<\|tool_calls?_section_end\|>"),
    ),
    Format(
        # gpt-oss: mlxcel#654, imp#1719, transformers#40620; OpenAI's guide to the harmony format.
        "harmony",
        tuple(f"<|start|>assistant{after}" for after in (*_CHANNELS, "to=functions.")),
        token_calls.harmony,
        re.compile(r"<\|call\|>"),
    ),
    Format(
        # The same where the server's template has begun the turn.
        "harmony-channel",
        _CHANNELS,
        token_calls.harmony,
        re.compile(r"<\|call\|>"),
        stand="line",
    ),
    Format(
        # mlx-lm#1374 and #1643: a JSON list (Nemo, Ministral, Mixtral); #1448: `[ARGS]` (Devstral,
        # Small 3.2), several.
        "mistral",
        (
            *_each("[TOOL_CALLS]"),
            "[TOOL_CALLS]NAME[ARGS]",
            "[TOOL_CALLS]NAME[CALL_ID]",
            "[TOOL_CALLS]NAME{",
        ),
        token_calls.mistral,
    ),
    Format(
        # Llama 3.1: Rapid-MLX#700; unsloth#5620: several, between `;`. Llama 4:
        # vllm#16214 with `<|python_start|>`.
        "llama",
        _each("<|python_tag|>", "<|python_start|>"),
        json_calls.marked(r"<\|python_(?:tag|start)\|>", "<|python_end|>"),
    ),
    Format(
        # Granite 3.0 and 3.1: vLLM's `granite` parser; granite-io#49.
        "granite",
        _each("<|tool_call|>"),
        json_calls.marked(r"<\|tool_call\|>"),
    ),
    Format(
        # LFM2: mlx-lm#1246, tabbyAPI#464, llama.cpp#16763.
        "lfm2",
        ("<|tool_call_start|>[NAME(", "<|tool_call_start|>NAME("),
        python_calls.marked("<|tool_call_start|>", "<|tool_call_end|>"),
        re.compile(r"<\|tool_call_end\|>"),
    ),
    Format(
        # Gemma 4: mlx-lm#1105; vLLM's own page. FunctionGemma writes `<escape>` for the quotes.
        "gemma",
        ("<|tool_call>call:NAME{", "<start_function_call>call:NAME{"),
        token_calls.gemma,
        re.compile(r"<tool_call\|>|<end_function_call>"),
    ),
    Format(
        # Gemma 3's model card shows no token; common prompts request
        # ```tool_code, with or without `print`.
        "tool-code",
        tuple(
            f"```tool_code{before}NAME("
            for before in ("", "print(", "[", "default_api.", "print(default_api.")
        ),
        python_calls.fenced,
        stand="line",
    ),
    Format(
        # Gemma's guide "Function calling" and Llama 3.2's and 4's cards request it,
        # with no other text (vllm#22917).
        "pythonic",
        ("[NAME(",),
        python_calls.bare,
        stand="answer",
    ),
    Format(
        # Llama 3.1 to 4: Rapid-MLX#700, vllm#46863. Qwen2.5-Coder by Ollama: hermes-agent#87900,
        # several in a row.
        "json",
        _each(""),
        json_calls.bare,
        stand="answer",
    ),
    Format(
        # ollama#13519: Llama 3.2 puts the same in a code block, with no other text.
        "json-block",
        _each("```json", "```tool_call", "```"),
        json_calls.fenced,
        stand="answer",
    ),
    Format(
        # Phi-4-mini: sglang#17132, vLLM's `phi4_mini_json` parser.
        "phi",
        _each("functools"),
        json_calls.marked("functools"),
        stand="answer",
    ),
)
"""Every format, the likeliest first."""


class CallHead(NamedTuple):
    """How a call of a format begins: the text before the tool's name, and after it if the name
    counts.
    """

    format: Format
    before: str
    after: str | None


def heads_of(*stands: Stand) -> tuple[CallHead, ...]:
    """Return the heads of the formats with calls that begin in such a position."""
    parts = (
        (row, head.partition("NAME"))
        for row in FORMATS
        if row.stand in stands
        for head in row.heads
    )
    return tuple(
        CallHead(row, before, after if name else None) for row, (before, name, after) in parts
    )


def format_of(text: str, name: str) -> str:
    """Return the name of the format in which a text calls the tool of this name, empty if there is
    no call.
    """
    compact = "".join(text.split())
    for row in FORMATS:
        for head in row.heads:
            at = compact.find(head.replace("NAME", name))
            if at == 0 or (at > 0 and row.stand != "answer"):
                return row.name
    return ""


OPENINGS = frozenset(head.before.partition("{")[0] for head in heads_of("token"))
"""What can follow a call on its line, compared without whitespace: the beginning of another one."""
