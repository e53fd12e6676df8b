"""How models without a parser mark their reasoning in the text: what opens it, and what closes it.

A tag counts at the beginning of an answer and after a call, nowhere else: elsewhere it is part of a
text or of code.
"""

from collections.abc import Mapping
from typing import Final

THINK = {"<think>": "</think>", "<thought>": "</thought>", "[THINK]": "[/THINK]"}
"""The tags that count even if the request mentions them. `<thought>` is Gemini's, `[THINK]`
Mistral's.
"""

_CHANNEL = "<|channel|>"
_MESSAGE = "<|message|>"
_START = "<|start|>assistant"

TAGS: Final[Mapping[str, str]] = THINK | {
    # models that learned from Claude: BrowserOS#167, open-webui's default tags
    "<thinking>": "</thinking>",
    "<reasoning>": "</reasoning>",  # lmstudio#2013, Newelle#427, open-webui#16856
    "<seed:think>": "</seed:think>",  # Seed-OSS: vLLM's `seed_oss` parser
    # LongCat-Flash-Thinking: its template, mlx-lm's table
    "<longcat_think>": "</longcat_think>",
    "<think:opensource>": "</think:opensource>",  # Hunyuan: mlx-lm's table
    "<|channel>thought": "<channel|>",  # Gemma 4: its template, qvac PR#2803
    "<unused94>thought": "<unused95>",  # MedGemma 1.5: its tokens for reasoning
    # Command R7B, Command A Reasoning: llama.cpp's parser
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|inner_prefix|>": "<|inner_suffix|>",  # Apertus: llama.cpp's parser
    # Sky-T1, OpenThinker: open-webui's default tags
    "<|begin_of_thought|>": "<|end_of_thought|>",
    # Kimi-VL and Kimi-Dev: these are not tokens, so that vLLM's parsers cannot find them
    "◁think▷": "◁/think▷",
    **dict.fromkeys(  # gpt-oss: the harmony format, TensorRT-LLM#9256
        (f"{start}{_CHANNEL}analysis{_MESSAGE}" for start in ("", _START)), "<|end|>"
    ),
}
"""What opens reasoning, and what closes it."""

ANSWERS: Final = tuple(
    f"{start}{_CHANNEL}{channel}{_MESSAGE}"
    for start in ("", _START)
    for channel in ("final", "final <|constrain|>json", "commentary")
)
"""What opens a text for the user in the harmony format; a channel with a recipient is a call."""

ENDS: Final = ("<|end|>", "<|return|>")
"""What closes such a text."""

OPENINGS: Final = (*TAGS, *ANSWERS)

_BARE_CLOSE = "</think>"


def closes_of(tag: str) -> tuple[str, ...]:
    """Return what closes the reasoning that a tag opens: models end tags in angle brackets with
    `</think>`, too.
    """
    close = TAGS[tag]
    return (close, _BARE_CLOSE) if close.startswith("</") and close != _BARE_CLOSE else (close,)


FIRSTS: Final = frozenset(opening[0] for opening in OPENINGS)
