"""Detects whether a backend truncated a prompt: the reported tokens are compared with a lower bound
of the prompt.

Ollama's `/v1` drops the oldest messages of a prompt that is too long, then truncates the rest to
the window, and responds with 200 (ollama#3839, #4967, #17944). LM Studio cuts out the middle by
default (lmstudio-js#47). `Dialect.cuts_prompts` names such families; no other is compared, because
some report only the tokens that their cache did not contain.

A prompt counts as truncated in two cases:

1. The backend reports fewer tokens than the prompt has at least, and that is more than the window
   holds. If the window is unknown, it is assumed to hold 2,048, the smallest that Ollama ever had
   by default.
2. The backend reports a number that a truncation leaves. That is exactly the window, in which an
   answer has no room. If the window is unknown, it is a multiple of 1,024, and at most two thirds
   of the estimate.

The lower bound counts only what every template shows, which are the texts of messages and the
arguments of calls. Tools, earlier reasoning and images do not count: templates omit them, or write
them shorter. Eight ASCII characters, or twelve bytes of anything else, are at least one token
(Qwen's and OpenAI's vocabularies: Hindi, Thai and Chinese need no fewer), and a run of one
character, such as an indentation, counts once.
"""

import re
from collections.abc import Mapping
from typing import Any

from antiphon.translation.to_chat_completions.tokens import tokens_of

SMALLEST = 2_048
"""Tokens of an unknown window."""

STEP = 1_024
"""Unknown windows are a multiple of this."""

READ = 16
"""Characters that are read for each token of the window: twice as many as a token has at most."""

PIECE = 65_536
"""Characters that are read at once."""

_RUN = re.compile(r"(.)\1+", re.DOTALL)


def is_longer(body: Mapping[str, Any], tokens: int) -> bool:
    """Whether this Chat request has more tokens than these, whatever the template and the
    vocabulary.
    """
    displayed = {"messages": [_displayed(message) for message in body.get("messages") or ()]}
    measures = (
        _by_size,
        _WithoutRuns(tokens),
    )  # the second takes longer, and its result is the same
    return all(tokens_of(displayed, measure, priming=0) > tokens for measure in measures)


def is_cut(body: Mapping[str, Any], reported: int, window: int | None) -> bool:
    """Whether a backend that reports this many tokens for this Chat request has truncated it; see
    the rule above.
    """
    if not reported:
        return False
    if reported == window:
        return True
    estimate = tokens_of(body)
    floor = max(reported, window or SMALLEST)
    if window is None and reported % STEP == 0 and 3 * reported <= 2 * estimate:
        return True
    return estimate > floor and is_longer(body, floor)


def message_of(model: str, reported: int, estimate: int) -> str:
    """Return the error message for a truncated prompt."""
    return (
        f"The backend read only {reported:,} of about {estimate:,} tokens of the prompt: "
        f"the window of '{model}' is smaller, and the backend cuts longer prompts silently. "
        "The answer is not based on the whole input. Shorten the input, or have the server's "
        "operator give the model a larger window."
    )


def _displayed(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every template shows of a message."""
    content = message.get("content")
    parts = (
        [part for part in content if part.get("type") == "text"]
        if isinstance(content, list)
        else content
    )
    calls = message.get("tool_calls") or ()
    return {
        "content": parts,
        "calls": [(call.get("function") or {}).get("arguments") for call in calls],
    }


class _WithoutRuns:
    """Measures texts without their runs until that is more than `tokens`, or `READ` characters for
    each were read.

    A prompt can have megabytes, and other requests wait meanwhile. Text that was not read counts as
    nothing.
    """

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._unread = tokens * READ
        self._found = 0

    def __call__(self, text: str) -> int:
        found = 0
        for at in range(0, len(text), PIECE):
            if self._found > self._tokens or not self._unread:
                break
            piece = text[at : at + min(PIECE, self._unread)]
            size = _by_size(_RUN.sub(r"\1", piece))
            self._unread -= len(piece)
            self._found += size
            found += size
        return found


def _by_size(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    others = 0 if len(text) == size else len(text.encode("utf-8", "surrogatepass")) - size
    return size // 8 + others // 12
