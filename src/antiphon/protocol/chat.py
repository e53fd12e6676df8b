"""The answers of a Chat Completions backend, read tolerantly.

Any field can be absent, null, empty or of a related type (lessons L13): varying fields are typed
`Any` and checked where they are used; only the nesting is fixed here. A chunk with another nesting
does not decode into these types.

Nothing here can be part of a reference cycle, so the garbage collector can skip it (`gc=False`).
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from antiphon.errors import BackendError


class Delta(Struct, gc=False):
    """The part of the message in one chunk; a non-streamed answer's `message` has the same
    fields.
    """

    content: Any = None
    refusal: Any = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    thinking_blocks: Any = None
    annotations: Any = None
    extra_content: Any = None


class ChatChoice(Struct, gc=False):
    """One candidate; only the one of index 0 is read."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: Any = None
    native_finish_reason: Any = None
    index: Any = 0
    logprobs: Any = None
    usage: Any = None


class ChatChunk(Struct, gc=False):
    """One chunk of a streamed answer, or a non-streamed answer."""

    choices: list[ChatChoice] | None = None
    usage: Any = None
    error: Any = None
    x_groq: Any = None
    citations: Any = None
    base_resp: Any = None
    code: Any = None
    msg: Any = None
    message: Any = None


KNOWN_CODES = {
    "context_length_exceeded",
    "rate_limit_exceeded",
    "insufficient_quota",
    "invalid_prompt",
    "server_is_overloaded",
    "content_filter",
}
"""Codes that clients act upon (Codex reads them in `response.failed`); any other code becomes
`server_error`.
"""

OVERFLOWS = (
    # OpenAI, Azure, Groq: their code. Z.ai and gateways: its relatives.
    r"context[_ ](?:length|window)[_ ]exceeded",
    # OpenAI, Azure, DeepSeek, vLLM, Mistral, OpenRouter: fast-agent#621,
    # vllm#20409, OpenHands#9937.
    r"maximum context (?:length|limit)",
    # OpenAI's Responses API; llama-cpp-python: its issue 416; Anthropic with its
    # output: claude-code#408.
    r"exceeds? (?:the )?(?:model's )?context (?:length|window|limit)",
    # Azure and OpenAI since GPT-4.1: litellm's tests quote it.
    r"input tokens exceed the configured limit",
    # llama.cpp: recording `context_overflow_blocking`; its type is `exceed_context_size_error`.
    r"exceed_context_size|exceeds the available context",
    # LM Studio: lmstudio-bug-tracker#546, #2339, opencode#2259, #11141.
    r"tokens to keep from the initial prompt|trying to keep the first \d+ tokens|cannot truncate "
    r"prompt with n_keep",
    r"context size has been exceeded",
    # vLLM: xorbitsai/inference#3785, vllm#12165.
    r"longer than the maximum model length|too long to fit into the model",
    # SGLang, Together: sglang#8096, #4048.
    r"longer than the model's context length|input length \([\d,]+ tokens\) exceeds",
    # Anthropic: pi#102; Fireworks; Ollama's cloud: dyad#3498; Anthropic on Bedrock.
    r"prompt (?:is )?too long",
    r"input is too long for requested model",
    # Ollama: its runner's error for input that it will not truncate.
    r"input length exceeds the context length",
    # Groq; Cerebras: cline#5140.
    r"reduce the length of the (?:messages|prompt|input)",
    # xAI: cline#3120.
    r"maximum prompt length is \d+",
    # Gemini: its `INVALID_ARGUMENT`.
    r"input token count.{0,40}exceeds the maximum",
    # Alibaba: qwen-code#98.
    r"range of input length should be",
    # Moonshot: as several of its clients quote it.
    r"exceeded model token limit",
    # Z.ai, code 1261: zeroclaw#4124.
    r"prompt exceeds max length",
    # Together and text-generation-inference: litellm#4934.
    r"`inputs` tokens \+ `max_new_tokens` must be",
    # MiniMax: as several of its clients quote it.
    r"context window exceeds limit",
    # Cohere: its error page. "too many tokens: max tokens must be …" is about the output.
    r"too many tokens: (?:size limit|total number|minimal context|multi-hop)",
)
"""How backends report that the input is too long, each with its evidence."""

_OVERFLOW = re.compile("|".join(OVERFLOWS))

_RATE = re.compile(
    r"rate[ _-]?limit|too many requests|throttl|tokens?[ _]per[ "
    r"_](?:min|minute|hour|day)|\btp[md]\b"
)
"""Words that make it a rate limit, even if the error says that the request is too large (Groq,
413).
"""

_NO_CREDIT = re.compile(
    # MiniMax 1008, DeepSeek 402, Z.ai 1113: their error pages; OpenRouter: llmgateway PR#3616;
    # Alibaba: `Arrearage`.
    r"insufficient (?:account )?(?:balance|credits?|funds)|no resource package|credit balance is "
    r"too low|\barrearage\b"
)
"""Words of an account without credit."""

_OF_PAYMENT = frozenset({402, 403, 429})
"""Statuses of a request that the account does not allow."""

FINE = frozenset({"0", "200", "success", "ok"})
"""Codes of services that put a code into every answer."""

_REPORTED = (
    *(
        "code",
        "type",
        "error_type",
        "error",
        "message",
        "detail",
        "msg",
        "error_description",
        "metadata",
        "raw",
    ),
    *("base_resp", "status_msg"),
)
"""Keys in which an error describes itself. Other keys can repeat the request, which can contain
anything.
"""

_DEPTH = 8

_DEEPEST_MESSAGE = 50
"""Levels that are searched for a message. Python's own limit differs between versions, and depends
on the caller.
"""


def read_error(value: Any, *, status: int | None = None) -> BackendError:
    """Return the error that a backend's `error` value, string or whole body describes."""
    code = error_code(value, status)
    message = error_message(value)
    return BackendError(
        f"The backend failed: {message}" if message else "The backend failed.",
        code=code,
        status=status,
        gist=f"The backend failed ({code}).",
    )


def error_message(value: Any, depth: int = _DEEPEST_MESSAGE) -> str:
    """Return the message inside an error value, in at most `depth` values around each other; empty
    without one.
    """
    if isinstance(value, str):
        return value[:2000]
    if depth and isinstance(value, list):
        return "; ".join(filter(None, (error_message(one, depth - 1) for one in value)))[:2000]
    if depth and isinstance(value, dict):
        for name in (
            "error",
            "message",
            "detail",
            "msg",
            "error_description",
            "base_resp",
            "status_msg",
        ):
            if message := error_message(value.get(name), depth - 1):
                return message
    return ""


def error_code(value: Any, status: int | None = None) -> str:
    """Return the code of `KNOWN_CODES` that an error value has or implies, otherwise
    `server_error`.

    Words of an account without credit count anywhere with a `status` about payment or limits,
    elsewhere only at the beginning of a text: an error can quote what a user wrote, and no user may
    pause a backend for others.
    """
    texts = [text.lower() for text in _words(value)]
    words = " ".join(texts)
    if _OVERFLOW.search(words) and not _RATE.search(words):
        return "context_length_exceeded"
    inner = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(inner, dict):
        for name in (inner.get("code"), inner.get("type")):
            if isinstance(name, str) and name in KNOWN_CODES:
                return name
    found = _NO_CREDIT.search if status in _OF_PAYMENT else _NO_CREDIT.match
    return "insufficient_quota" if any(found(text.lstrip()) for text in texts) else "server_error"


def flat_error(chunk: ChatChunk) -> Any:
    """Return the error of an answer without choices that has its fields at the top or in
    `base_resp`; None without one.

    MiniMax answers `{"base_resp": {"status_code": 1008, "status_msg": …}}`, Z.ai and others
    `{"code": …, "msg": …}`. Good answers can have such fields too, so it counts only for an answer
    that has no end (`ChatStream.finish`).
    """
    stated = chunk.base_resp if isinstance(chunk.base_resp, dict) else {}
    code = stated.get("status_code")
    message = stated.get("status_msg")
    if not code:
        code = chunk.code
        message = chunk.msg or chunk.message
    if not isinstance(message, str) or not message or FINE & {str(code).lower(), message.lower()}:
        return None
    return {"code": code, "message": message}


def _words(value: Any, depth: int = _DEPTH) -> Iterator[str]:
    """Yield the texts in which an error describes itself."""
    if isinstance(value, str):
        yield value[:2000]
    elif depth and isinstance(value, list):
        for one in value[:_DEPTH]:
            yield from _words(one, depth - 1)
    elif depth and isinstance(value, dict):
        for name in _REPORTED:
            yield from _words(value.get(name), depth - 1)
