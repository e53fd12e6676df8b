"""What a backend's rejection teaches: a parameter that it does not accept, a field that it misses
(lessons L33, L55).
"""

import re
from bisect import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from antiphon.protocol.json_members import decode_value
from antiphon.translation.dialects.dialect import REASONING_FIELDS, SCHEMA_LESSON
from antiphon.translation.dialects.differences import (
    FAILED,
    LONGEST,
    MOST_IN_ALL,
    REJECTED,
    recognised,
    unquoted,
)
from antiphon.translation.to_chat_completions.schemas import GROUPS, Group, groups_in, schemas_in

_ALWAYS_SENT = frozenset({"model", "messages", "tools", "stream"})
_STRICT = frozenset({"tools", "response_format"})
"""Parameters that contain `strict`."""

_ALSO_CALLED = {"chat_template": "chat_template_kwargs"}
"""Names that servers use instead of the parameter's: vLLM, with the tokenizer of Mistral."""

_NAME = r"[`'\"“{\[(#/]{0,4}\b([A-Za-z_][\w.\[\]/]{0,80})"
_WORDINGS = (
    r"unsupported (?:parameter|argument|field)s?(?: supplied)?:? NAME",  # OpenAI
    # OpenAI, Go and Rust servers, Gemini
    r"unknown (?:parameter|argument|field|name|property|key)s?:? NAME",
    # OpenAI, Azure
    r"unrecognized (?:request )?(?:parameter|argument|field|key)s?(?: supplied)?:? NAME",
    # transformers
    r"unexpected (?:keyword )?(?:parameter|argument|field|property)s?(?: in the request)?:? NAME",
    # Groq
    r"(?:property|parameter|argument|field) NAME['\"`]? (?:is|was) "
    r"(?:unsupported|unknown|unrecognized)",
    r"additional properties are not allowed \(NAME",
    r"NAME['\"`]?: extra inputs are not permitted",  # Azure, Anthropic, vLLM
    r"does not support (?:parameter|argument|field)s?:? NAME",  # xAI, LiteLLM
    r"does not support (?:the )?NAME['\"`]? (?:parameter|argument|field)",  # Databricks
    r"NAME['\"`]?(?:=\w{1,40})? (?:is|are) (?:currently |yet )?(?:unsupported|not "
    r"(?:supported|permitted|allowed))",
    r"NAME type is unavailable",  # DeepSeek, of response_format
    r"NAME['\"`]? does not support \S{1,40} with this model\. only the default",  # OpenAI
)
_NO_TOOLS = (
    # Ollama
    r"(?:does not|doesn't) support (?:native )?tools?\b(?! (?:of|with|other|named|in|when))",
    r"(?:does not|doesn't) support (?:tool|function)[- ](?:use|call(?:s|ing)?)\b",
    r"(?:tool|function)[- ](?:use|call(?:s|ing)?) (?:is|are) not (?:supported|available|enabled)\b",
    r"tools param requires --jinja",  # llama.cpp
    # vLLM without --enable-auto-tool-choice or --tool-call-parser
    r"tool[ _]choice\b[^.]{0,40} requires --",
)
"""Messages of servers that they, or their model, do not support tools at all."""

_MISSING = re.compile(
    r"(?:missing )?`?(reasoning_content|reasoning)`?"
    r" (?:in the thinking mode must be passed back|is missing in assistant|field in the assistant "
    r"message)",
    re.IGNORECASE,
)
_SPEAKING_KEYS = (
    *("error", "errors", "message", "msg", "detail", "details", "description", "metadata", "raw"),
    *("reason", "base_resp", "status_msg"),
)
"""Keys in which a server speaks for itself. Elsewhere it can quote the request, and a request must
not teach.
"""

_EXTRA = re.compile(r"extra_forbidden|extra inputs are not permitted", re.IGNORECASE)
_REFUSES = re.compile(
    r"unsupported_parameter|unknown_parameter|unsupported parameter|unknown "
    r"parameter|unrecognized|not supported"
    r"|unsupported (?:field|argument)|not permitted|only the default",
    re.IGNORECASE,
)
_VALUE = re.compile(r"unsupported value|unsupported_value|invalid value", re.IGNORECASE)
_TYPES = (
    r"(?:unsupported|unknown|unrecognized|invalid|unexpected) (?:\w{1,20} ){0,2}"
    r"(?:type|variant|value|tag|tool|item)s?(?: of)?:? NAME",  # OpenAI, serde
    r"NAME['\"`]?(?: \w{1,20}){0,2} (?:is|are) (?:currently |yet )?"
    r"(?:unknown|unsupported|unrecognized|invalid|not "
    r"(?:supported|permitted|allowed|known|valid|available))",
    r"(?:does not|doesn't|cannot) (?:support|take|run|use) (?:\w{1,20} ){0,3}NAME",
    r"tag NAME['\"`]? found using",  # pydantic, of a union
    # pydantic, as text
    r"(?:should|must) be [^.;]{1,80}?(?:got|found|received|['\"]input['\"]):? NAME",
)
"""How servers reject a type of tools or items. A name counts only near such words: a message can
quote the request.
"""

_SCHEMA_WORDINGS = (
    r"json schema conversion failed|pattern must start with",  # llama.cpp
    # llama.cpp, vLLM
    r"(?:parse|parsing|compile|compiling|invalid) (?:\w{1,20} ){0,2}grammar|grammar error",
    r"invalid json schema|invalid schema for (?:function|response_format)",  # Ollama, OpenAI
    # vLLM
    r"unimplemented keys|not supported by "
    r"(?:xgrammar|guidance|llguidance|outlines|lm-format-enforcer)",
    r"schema (?:\w{1,20} ){0,3}(?:unsupported|not supported)|unsupported (?:json )?schema",
)
"""Messages of servers that they cannot convert a schema into a grammar."""

LONGEST_WORDS = 300
"""Characters that are kept of a server's words."""

LARGEST_REQUEST = 200_000
"""Bytes of a request that is searched for these words, in 10 ms; of the refusal of a larger one, no
words are kept.
"""

_WITHOUT_CONTENT = frozenset({"model", "include", "stream_options"})
"""Parameters of Chat and Responses requests with nothing that clients wrote; others can name a
user.
"""

MOST_READ = 40_000
"""Characters of a refusal that are read: a large one must not hold the event loop."""

EACH = 100
"""Characters as which a table counts, and a text in addition to its own."""

RUN = 10
"""Characters of the words that are searched for at once, so that each common run of 14 is found."""

_DUMP = re.compile(r"[\[{]\s*[{\"']")
"""The beginning of a value that a server shows."""

_CUT = re.compile(r"\s[!-~]*\Z|[\d.,]+\Z")
"""The last word of a text, or the number at its end."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@cache
def _compiled(wordings: tuple[str, ...]) -> Sequence[re.Pattern[str]]:
    """Return these patterns compiled, at the first rejection: it takes a hundredth of a server's
    start.
    """
    return [re.compile(wording.replace("NAME", _NAME), re.IGNORECASE) for wording in wordings]


def refused_parameter(status: int, body: bytes, sent: Mapping[str, Any]) -> str | None:
    """Return what to change in a retry, None if the error is about something else.

    `body` is the error as received and `sent` the Chat request. The result is one of `sent`'s
    optional keys, or `strict` (of functions and schemas), or `messages.` and a reasoning field,
    each to be omitted; or `+` and a reasoning field that every answer with calls must have; or
    `tools`, which are then described in the prompt; or the lesson of a row of `differences`.
    `Dialect.taught` knows what each means.
    """
    if status not in FAILED:
        return None
    error = _decoded(body)
    texts = [_sentence(one)[:LONGEST] for one in _statements(error)]
    if "tools" in sent and any(
        wording.search(text) for wording in _compiled(_NO_TOOLS) for text in texts
    ):
        return "tools"
    return recognised(status, texts, sent) or _named_parameter(status, error, sent)


def spoken(body: bytes) -> str:
    """Return what a server says itself in an error, with its codes, and without what it quotes of
    the request.
    """
    statements = list(_statements(_decoded(body)))
    texts = [one for one in statements if isinstance(one, str)]
    codes = [
        str(one[key])
        for one in statements
        if isinstance(one, dict)
        for key in ("code", "type", "status", "reason")
        if isinstance(one.get(key), str)
    ]
    return unquoted(" ".join((*texts, *codes))[:MOST_IN_ALL])


def own_words(body: bytes, sent: Mapping[str, Any]) -> str:
    """Return the beginning of what a server says, to be kept: nothing in it is from the request
    `sent`.

    It ends where the server dumps a value, and each run of 14 characters that the request contains
    is omitted.
    """
    texts = [one for one in _statements(_decoded(body)) if isinstance(one, str)]
    text = _beginning(_DUMP.split(unquoted(" ".join(dict.fromkeys(texts))), maxsplit=1)[0])
    text = _CONTROL.sub(" ", text).encode("utf-8", "replace").decode()
    provided = msgspec.json.encode(
        [value for name, value in sent.items() if name not in _WITHOUT_CONTENT]
    )
    if len(provided) > LARGEST_REQUEST:
        return ""
    request = provided.decode()
    stored = ""
    place = 0
    for start in range(0, len(text) - RUN + 1, RUN // 2):
        if start < place or text[start : start + RUN] not in request:
            continue
        first = start
        last = start + RUN
        while first > place and text[first - 1 : last] in request:
            first -= 1
        last = bisect(
            range(len(text)), False, last, key=lambda end: text[first : end + 1] not in request
        )
        stored = f"{stored}{text[place:first]}…"
        place = last
    return stored + text[place:]


def _beginning(text: str) -> str:
    """Return as much of a text as is kept: a part of a number is another number."""
    if len(text) <= LONGEST_WORDS:
        return text
    return _CUT.sub("", text[: LONGEST_WORDS + 1])[:LONGEST_WORDS]


def is_credible(status: int, words: str, lesson: str, sent: Mapping[str, Any]) -> bool:
    """Whether a lesson may change the requests of all tenants.

    That a backend supports no tools is credible only if its own words say so (`own_words`): a
    server that shows a part of the request can be made to say it.
    """
    return lesson != "tools" or refused_parameter(status, words.encode(), sent) == lesson


def named_parameter(status: int, body: bytes, sent: Mapping[str, Any]) -> str | None:
    """Return the optional key of `sent` that an error names as refused, None without one; see
    `refused_parameter`.
    """
    return _named_parameter(status, _decoded(body), sent)


def _named_parameter(status: int, error: Any, sent: Mapping[str, Any]) -> str | None:
    if status not in REJECTED:
        return None
    accused = (_match(name, sent) for name in _names(error))
    return next((lesson for lesson in accused if lesson), None)


def refused_schema(status: int, body: bytes | str, sent: Mapping[str, Any]) -> str | None:
    """Return the lesson of an error about a schema, None if the error is about something else.

    `body` is the error as received and `sent` the Chat request. The lesson is `schema:` and the
    group of `to_chat_completions.schemas.GROUPS` that the error names, otherwise the first group
    that `sent` has; `Dialect.taught` knows it.
    """
    if status not in FAILED:
        return None
    text = " ".join(one for one in _statements(_decoded(body)) if isinstance(one, str))[:LONGEST]
    if not any(wording.search(text) for wording in _compiled(_SCHEMA_WORDINGS)):
        return None
    used = groups_in(schemas_in(sent))
    named = next(
        (group.name for group in GROUPS if group.name in used and _names_group(text, group)), None
    )
    lesson = named or next(iter(used), None)
    return SCHEMA_LESSON + lesson if lesson else None


def is_named(body: bytes | str, lesson: str) -> bool:
    """Whether an error names what `refused_schema` returned for it; otherwise that is a guess from
    the request.
    """
    text = " ".join(one for one in _statements(_decoded(body)) if isinstance(one, str))
    stated = unquoted(_DUMP.split(text, maxsplit=1)[0])[:LONGEST]
    return any(
        SCHEMA_LESSON + group.name == lesson and _names_group(stated, group) for group in GROUPS
    )


def _names_group(text: str, group: Group) -> bool:
    if group.words and re.search(group.words, text, re.IGNORECASE):
        return True
    return any(re.search(rf"['\"`]{re.escape(keyword)}['\"`]", text) for keyword in group.keywords)


def refused_types(body: bytes, names: Collection[str]) -> frozenset[str]:
    """Return which of these types of tools and items the server itself reports as unsupported.

    `body` is the error as received.
    """
    found = (
        name
        for one in _statements(_decoded(body))
        for name in (_type_in(one) if isinstance(one, dict) else _types(one))
    )
    return frozenset(names) & frozenset(found)


def _types(text: str) -> Iterator[str]:
    for wording in _compiled(_TYPES):
        for found in wording.finditer(text[:LONGEST]):
            yield found.group(1).rstrip(".")


def _type_in(error: dict[str, Any]) -> Iterator[str]:
    """Yield the type that FastAPI reports as found instead of another."""
    where = error.get("loc")
    provided = error.get("input")
    if isinstance(where, list) and where and where[-1] == "type" and isinstance(provided, str):
        yield provided


def _decoded(body: bytes | str) -> Any:
    try:
        return decode_value(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body if isinstance(body, str) else body.decode("utf-8", "replace")


def _sentence(one: dict[str, Any] | str) -> str:
    """Return a statement as text: of a table, the place or parameter that it is about, and its
    message.
    """
    if isinstance(one, str):
        return one
    where = one.get("loc", one.get("param", one.get("field")))
    stated = one.get("msg", one.get("message"))
    if isinstance(where, list):
        where = ".".join(str(step) for step in where)
    return (
        f"{where}: {stated}" if isinstance(where, str) and where and isinstance(stated, str) else ""
    )


def _names(error: Any) -> Iterator[str]:
    """Yield the names that an error blames, the most explicit first."""
    for one in _statements(error):
        yield from _in_table(one) if isinstance(one, dict) else _in_text(one)


def _statements(error: Any) -> Iterator[dict[str, Any] | str]:
    """Yield the tables and texts in which a server speaks, the first of many."""
    left = MOST_READ
    for one in _nested(error):
        yield one
        left -= EACH + (min(len(one), LONGEST) if isinstance(one, str) else 0)
        if left <= 0:
            return


def _nested(error: Any, depth: int = 0) -> Iterator[dict[str, Any] | str]:
    """Yield tables and texts from envelopes, which servers nest, some as JSON in text."""
    if isinstance(error, dict) and depth < 8:
        yield error
        for key in _SPEAKING_KEYS:
            yield from _nested(error.get(key), depth + 1)
    elif isinstance(error, list) and depth < 8:
        for value in error:
            yield from _nested(value, depth + 1)
    elif isinstance(error, str):
        inner = _decoded(error) if error.lstrip().startswith(("{", "[")) else error
        if isinstance(inner, str):
            yield error
        else:
            yield from _nested(inner, depth + 1)


def _in_table(error: dict[str, Any]) -> Iterator[str]:
    text = " ".join(str(error.get(key)) for key in ("type", "code", "message", "msg"))
    where = error.get("loc")
    param = error.get("param")
    if isinstance(where, list) and _EXTRA.search(text):
        yield ".".join(str(step) for step in where)
    if isinstance(param, str) and _REFUSES.search(text) and not _only_a_value(text):
        yield param


def _in_text(text: str) -> Iterator[str]:
    text = text[:LONGEST]
    if _only_a_value(text):
        return
    for missing in _MISSING.finditer(text):
        yield f"+{missing.group(1).lower()}"
    for wording in _compiled(_WORDINGS):
        for found in wording.finditer(text):
            yield found.group(1)


def _only_a_value(text: str) -> bool:
    """Return whether one value is rejected and others are not: the client must correct that."""
    return bool(_VALUE.search(text)) and "only the default" not in text.lower()


def _match(name: str, sent: Mapping[str, Any]) -> str | None:
    """Return the optional key in `sent` that `name`, a path in any notation, means."""
    if name.startswith("+"):
        return name if _lacks(name[1:], sent) else None
    steps = [
        step
        for step in re.split(r"[.\[\]/]+", _CAMEL.sub("_", name).lower().removeprefix("body."))
        if step
    ]
    if not steps:
        return None
    first = _ALSO_CALLED.get(steps[0], steps[0])
    last = steps[-1]
    if last == "strict" and not sent.keys().isdisjoint(_STRICT):
        return "strict"
    if first in sent and first not in _ALWAYS_SENT:
        return first
    if last in REASONING_FIELDS and any(last in message for message in sent.get("messages", [])):
        return f"messages.{last}"
    return None


def _lacks(field: str, sent: Mapping[str, Any]) -> bool:
    return any(
        "tool_calls" in message and field not in message for message in sent.get("messages", [])
    )
