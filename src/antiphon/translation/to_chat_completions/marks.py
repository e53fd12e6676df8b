"""System messages in the middle of a conversation, for backends that accept one only at its
beginning.

Templates of Qwen 3.5 and MiniMax reject others, behind any server or gateway (dynamo#10206, litellm
PR#39282, lmstudio#2298, ollama#18241, CodexPlusPlus#267), and gateways to models with one system
prompt move them there. Such a message becomes a user message between two lines with a token. Users
and tools must not be able to write these lines: the token is derived from a secret of the server
and from the beginning of the conversation, so it cannot be guessed, and stays the same from turn to
turn, which keeps the prompt's prefix. A text that contains the token, because the model has
disclosed it, is changed so that it does not.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

from antiphon.ids import new_id
from antiphon.protocol.items.content import InputText
from antiphon.protocol.items.messages import InputItem, Message

SYSTEM_ROLES = frozenset({"system", "developer"})

Token = Callable[[str], str]
"""Returns the token of a conversation that begins with this text: always the same, and impossible
to guess.
"""

BEGINNING = 1_000
"""Characters of the first text of a user that determine the token."""


@cache
def _secret() -> bytes:
    return new_id("key").encode()


def token_of_this_process(beginning: str) -> str:
    """Return a token that is the same until this process ends."""
    return blake2b(
        beginning.encode("utf-8", "surrogatepass"), digest_size=8, key=_secret()
    ).hexdigest()


def beginning_of(items: Sequence[InputItem]) -> str:
    """Return the text with which a user begins a conversation, cut; empty if it has none."""
    for item in items:
        if isinstance(item, Message) and item.role == "user":
            if isinstance(item.content, str):
                return item.content[:BEGINNING]
            return "\n".join(part.text for part in item.content if isinstance(part, InputText))[
                :BEGINNING
            ]
    return ""


def marked(text: str, token: str) -> str:
    """Return the text of a system message between its two lines.

    The text must not contain the token.
    """
    return f"[System message {token}]\n{text}\n[End of system message {token}]"


def without_token(parts: list[dict[str, Any]], token: str) -> list[dict[str, Any]]:
    """Return parts of a message without the token, also across their borders; the same ones if they
    have none.
    """
    texts = [part["text"] for part in parts if part["type"] == "text"]
    pattern = re.compile(re.escape(token), re.IGNORECASE)
    if not pattern.search("".join(texts)):
        return parts
    half = len(token) // 2
    return [
        {
            **part,
            "text": pattern.sub(lambda found: f"{found[0][:half]}\\{found[0][half:]}", part["text"])
            + "\n",
        }
        if part["type"] == "text"
        else part
        for part in parts
    ]
