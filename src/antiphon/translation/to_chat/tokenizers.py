"""Which families of backends tell how many tokens a Chat request is, and how each is asked.

A way is a generator: it yields what to POST, is sent the JSON that came (None where none did), and returns the count,
or None where the backend does not tell. The backend's own template and tokenizer are used, so the count is that of
the prompt which the model would see; only media are no part of it.
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

from antiphon.protocol.resources import COUNTED

Body = dict[str, Any]


class Ask(NamedTuple):
    """A POST to the backend; `path` is relative to its base URL."""

    path: str
    body: Body


Steps = Generator[Ask, Any, int | None]
Way = Callable[[Body], Steps]
"""Takes the body of a request for chat completions."""

BESIDE = "/.."
"""Goes before the path of an endpoint that stands beside `/v1` and not below it."""


def by_counting(body: Body) -> Steps:
    """Ask for the count itself."""
    return _number((yield Ask("/chat/completions/input_tokens", body)), "input_tokens")


def by_responses(body: Body) -> Steps:
    """Ask a backend that speaks Responses, in its own words (specification section 11)."""
    asked = {name: value for name, value in body.items() if name in COUNTED}
    return _number((yield Ask("/responses/input_tokens", asked)), "input_tokens")


def by_template(body: Body) -> Steps:
    """Have the prompt written out, then cut into tokens."""
    written = yield Ask(f"{BESIDE}/apply-template", body)
    prompt = written.get("prompt") if isinstance(written, dict) else None
    if not isinstance(prompt, str):
        return None
    cut = yield Ask(f"{BESIDE}/tokenize", {"content": prompt, "add_special": True, "parse_special": True})
    tokens = cut.get("tokens") if isinstance(cut, dict) else None
    return len(tokens) if isinstance(tokens, list) else None


def by_messages(body: Body) -> Steps:
    """Have the messages cut into tokens."""
    asked: Body = {name: body[name] for name in ("model", "messages", "tools") if name in body}
    if effort := body.get("reasoning_effort"):
        asked["chat_template_kwargs"] = {"reasoning_effort": effort}
    return _number((yield Ask(f"{BESIDE}/tokenize", asked | {"add_generation_prompt": True})), "count")


WAYS: Mapping[str, tuple[Way, ...]] = {
    # Its server's README: `/v1/chat/completions/input_tokens` takes a Chat body. Builds before it have the template
    # and the tokenizer apart; a prompt of Chat is cut with special tokens added and parsed.
    "llamacpp": (by_counting, by_template),
    # vllm/entrypoints/serve/tokenize/protocol.py: `TokenizeChatRequest` and the `count` of `TokenizeResponse`. The
    # effort goes into the template as it does for chat completions.
    "vllm": (by_messages,),
    # Ours: it counts words, and bills by the same count.
    "demo": (by_counting,),
}
"""Family -> its ways, best first. SGLang's `/tokenize` cuts a prompt but writes none out; others have nothing."""


def _number(answer: Any, name: str) -> int | None:
    value = answer.get(name) if isinstance(answer, dict) else None
    return value if type(value) is int and value >= 0 else None
