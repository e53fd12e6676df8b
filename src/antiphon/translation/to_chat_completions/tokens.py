"""How many tokens a Chat request has: counted by the backend, or estimated if no backend can count.

A way is a generator: it yields what to POST, is sent the JSON response (None without one), and
returns the count, or None if the backend does not report it. The backend's own template and
tokenizer are used, so the count is that of the prompt which the model would see, except media.

The estimate:

    tokens = 3 + Σ messages (4 + its texts + 8 a call) + Σ tools (8 + its definition as JSON) + the format's schema
               + media

A text is measured by its size: four ASCII characters are a token, and so are three bytes of
anything else in UTF-8. That is within a quarter for English prose, and an overestimate for most
other languages: reaching a limit too early is better than too late. An image, or a sound, is 765
tokens, which is the count of a picture of 1024 by 1024 at GPT-4o; a file is as many for each
started 50,000 characters of its data.

More input is never fewer tokens.
"""  # noqa: E501 - a table, a diagram or an example

import json
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

from antiphon.protocol.resources import COUNTED

Body = dict[str, Any]

BYTES_PER_TOKEN = 4
"""Bytes of text, in UTF-8, that are taken as a token if nothing else is known."""

# Counted by the backend.


class Question(NamedTuple):
    """A POST to the backend; `path` is relative to its base URL."""

    path: str
    body: Body


Steps = Generator[Question, Any, int | None]
Way = Callable[[Body], Steps]
"""Accepts the body of a request for chat completions."""

ALONGSIDE = "/.."
"""Precedes the path of an endpoint that is next to `/v1` and not below it."""


COUNTING = "/chat/completions/input_tokens"


def by_counting(body: Body) -> Steps:
    """Request the count itself."""
    return _number((yield Question(COUNTING, body)), "input_tokens")


def by_responses(body: Body) -> Steps:
    """Request the count from a backend that implements Responses, in its own form (specification
    section 11).
    """
    requested = {name: value for name, value in body.items() if name in COUNTED}
    return _number((yield Question("/responses/input_tokens", requested)), "input_tokens")


def by_template(body: Body) -> Steps:
    """Have the prompt rendered, then tokenized."""
    written = yield Question(f"{ALONGSIDE}/apply-template", body)
    prompt = written.get("prompt") if isinstance(written, dict) else None
    if not isinstance(prompt, str):
        return None
    cut = yield Question(
        f"{ALONGSIDE}/tokenize", {"content": prompt, "add_special": True, "parse_special": True}
    )
    tokens = cut.get("tokens") if isinstance(cut, dict) else None
    return len(tokens) if isinstance(tokens, list) else None


def by_messages(body: Body) -> Steps:
    """Have the messages tokenized."""
    requested: Body = {name: body[name] for name in ("model", "messages", "tools") if name in body}
    if effort := body.get("reasoning_effort"):
        requested["chat_template_kwargs"] = {"reasoning_effort": effort}
    return _number(
        (yield Question(f"{ALONGSIDE}/tokenize", requested | {"add_generation_prompt": True})),
        "count",
    )


WAYS: Mapping[str, tuple[Way, ...]] = {
    # Its server's README: `/v1/chat/completions/input_tokens` accepts a Chat body. Builds before it
    # have the template and the tokenizer separately; a prompt of Chat is tokenized with special
    # tokens added and parsed.
    "llamacpp": (by_counting, by_template),
    # vllm/entrypoints/serve/tokenize/protocol.py: `TokenizeChatRequest` and the `count` of
    # `TokenizeResponse`. The effort goes into the template as it does for chat completions.
    "vllm": (by_messages,),
    # `/v1/messages/count_tokens`, for which `upstream.messages` translates the request.
    "messages": (by_counting,),
    # Ours: it counts words, and bills by the same count.
    "demo": (by_counting,),
}
"""Family -> its ways, best first. SGLang's `/tokenize` tokenizes a prompt but renders none; others
have nothing.
"""

COUNTS_MEDIA = frozenset({"messages"})
"""The families that count images and files too."""


def _number(answer: Any, name: str) -> int | None:
    value = answer.get(name) if isinstance(answer, dict) else None
    return value if type(value) is int and value >= 0 else None


# Estimated.

Measure = Callable[[str], int]

PRIMING = 3
"""The beginning of the answer. Recordings: "What is the capital of France?", 7 tokens, is 14 to
gpt-4o.
"""

MESSAGE = 4
"""A message's role and its two ends."""

CALL = 8
TOOL = 8
MEDIUM = 765
MEDIUM_DATA = 50_000

MEDIA = frozenset({"image_url", "input_audio", "video_url", "file", "document_url"})
"""Fields of a content part that contain no text."""

UNSEEN = frozenset(
    {"role", "type", "id", "tool_call_id", "index", "format"}
    | {"signature", "thought_signature", "encrypted_content", "data", "cache_control"}
)
"""Fields of a message, and inside it, that the model does not read as text."""


def tokens_of(
    body: Mapping[str, Any], measure: Measure | None = None, priming: int = PRIMING
) -> int:
    """Return the tokens of a request for chat completions; `measure` counts those of a text, by its
    size if None.
    """
    measure = measure or by_size
    messages = body.get("messages") or []
    tools = body.get("tools") or []
    count = priming + sum(MESSAGE + _of_message(message, measure) for message in messages)
    count += sum(TOOL + measure(_as_json(tool)) for tool in tools)
    if form := body.get("response_format"):
        count += measure(_as_json(form))
    return count + media_tokens(body)


def request_tokens(body: Mapping[str, Any]) -> int:
    """Return the tokens of a request as sent to a backend: for chat completions, a response or
    embeddings.
    """
    provided = [one for name in ("messages", "input") for one in _listed(body.get(name))]
    texts = [one for one in provided if not isinstance(one, int)]
    return tokens_of({**body, "messages": texts}) + sum(map(_ids_in, provided))


def by_size(text: str) -> int:
    """Return the expected tokens of a text by its size."""
    if text.isascii():
        return -(-len(text) // BYTES_PER_TOKEN)
    ascii_size = len(text.encode("ascii", "ignore"))
    other_size = text_bytes(text) - ascii_size
    return -(-(3 * ascii_size + 4 * other_size) // 12)


def text_bytes(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def media_tokens(body: Mapping[str, Any]) -> int:
    """Return the tokens of the images, sounds and files in a request."""
    return sum(map(_of_media, body.get("messages") or []))


def is_plain(body: Body) -> bool:
    """Whether the request is only texts between roles: then no template adds anything."""
    plain = all(message.keys() == {"role", "content"} for message in body["messages"])
    return plain and not (body.get("tools") or body.get("response_format") or media_tokens(body))


def _listed(value: Any) -> list[Any]:
    """Return one text or several as several."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _ids_in(value: Any) -> int:
    """Return how many tokens were passed as such: an input of embeddings can be the tokenizer's
    numbers.
    """
    return sum(isinstance(one, int) for one in _listed(value))


def _of_message(message: Any, measure: Measure) -> int:
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return _of_texts(message, measure) + (CALL * len(calls) if isinstance(calls, list) else 0)


def _of_texts(value: Any, measure: Measure) -> int:
    if isinstance(value, str):
        return measure(value)
    if isinstance(value, list):
        return sum(_of_texts(one, measure) for one in value)
    if isinstance(value, dict):
        return sum(
            _of_texts(one, measure) for name, one in value.items() if name not in UNSEEN | MEDIA
        )
    return 0


def _of_media(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_of_media, value))
    if isinstance(value, dict):
        return sum(
            _of_medium(one) if name in MEDIA else _of_media(one) for name, one in value.items()
        )
    return 0


def of_medium(file_data: int) -> int:
    """Return the tokens of an image, a sound or a file with this many characters of data; 0 for
    image and sound.
    """
    return MEDIUM * max(1, -(-file_data // MEDIUM_DATA))


def _of_medium(value: Any) -> int:
    data = value.get("file_data") if isinstance(value, dict) else None
    return of_medium(len(data) if isinstance(data, str) else 0)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
