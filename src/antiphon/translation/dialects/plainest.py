"""The plainest form of a Chat request: for a refusal that no row of `differences` explains.

`suspects` names what a backend may have refused in a request: lessons that change it and keep its
meaning. A request that is built with all of them has one system message, texts as strings, plain
schemas, and no optional parameter. It has every tool, every text and every result, so that a
hostile backend gains nothing by refusing. `upstream.suspicions` finds out which of them it was.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any

import msgspec

from antiphon.translation.dialects.dialect import PLAIN_LESSON, REASONING_FIELDS, VALUE, Dialect
from antiphon.translation.to_chat_completions.plain_schemas import digest_of, plain

Body = Mapping[str, Any]

_WORDS = frozenset(
    {"reasoning_effort", "service_tier", "verbosity", "prompt_cache_retention", "truncation"}
)
"""Parameters with a value of a few words. Other texts are identifiers: any is as good as
another.
"""

_LONGEST = 30
"""Characters of a value that is shown in a lesson; of a longer one, and of an object, it has the
digest.
"""

_MEANING = frozenset(
    {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "stream",
        "response_format",
        "logprobs",
        "top_logprobs",
        "n",
        "stop",
    }
    | {"max_tokens", "max_completion_tokens"}
)
"""Parameters that are not omitted: the answer would be a different one without them."""

UNREFUSED = frozenset({401, 402, 403, 404, 408, 413, 429})
"""Statuses of failures that another form of the request cannot change."""

_TEMPLATE = re.compile(
    r"jinja|chat "
    r"template|\b(?:error|fail\w*)\b.{0,20}\btemplate|template\b.{0,40}\b(?:error|fail|exception)"
    r"|raise exception",
    re.IGNORECASE,
)
"""Servers report what a model's template raises with any status."""

_MEDIUM = r"\b(?:images?|audio|videos?|files?|pdf|media|urls?)\b"
_EXPLAINED = re.compile(
    # The length of the input.
    r"context (?:length|window|size)|\btoo (?:long|many (?:input )?tokens)\b|maximum "
    r"(?:context|prompt|input)"
    r"|(?:input|prompt|context|request|message|conversation|payload|body|sequence)\b.{0,40}\btoo "
    r"(?:large|big)\b"
    r"|\btokens? (?:limit|count)\b|\bexceed(?:s|ed)?\b.{0,30}(?:limit|max|length|\d)|\d (?:input "
    r"|prompt )?tokens\b"
    r"|上下文|长度超|超过.{0,6}长度|超出.{0,6}限制"
    # What may not be said.
    r"|content (?:management )?(?:policy|filter)|(?:policy|content) violation|prohibited "
    r"content|guardrail|usage polic"
    r"|\b(?:moderation|safety(?! identifier)|harmful|unsafe|inappropriate|flagged)\b|exists "
    r"risk|high risk"
    r"|data ?inspection"
    r"|sensitive (?:content|information|words?)|敏感|违规|不安全|安全审核|存在风险|不合规"
    # The key and the account.
    r"|\bapi ?keys?\b|\bvalid key\b|security "
    r"token|\bcredentials?\b|\bauthenticat|\bunauthori[sz]ed\b|\bforbidden\b"
    r"|\bpermission\b|\bsuspended\b|\baccount\b|密钥|鉴权|令牌"
    r"|\bquotas?\b|\bcredits?\b|\bbalance\b|\bbilling\b|\barrears?\b|\bafford\b|\bsubscription\b|\bpayment\b"
    r"|余额|欠费|配额|额度|rate ?limit|\bthrottl|限流|频率"
    # Files and images.
    rf"|{_MEDIUM}.{{0,60}}\b(?:invalid|decode|download|fetch|support|corrupt|unable|cannot|could "
    r"not|fail|only)"
    r"|\b(?:invalid|unsupported|decode|download|fetch|load|corrupt|unknown "
    rf"variant)\b.{{0,40}}{_MEDIUM}"
    r"|multi ?modal|input audio|图片|图像|文件"
    # The model's name, and what the model wrote.
    r"|\bmodel\b.{0,80}(?:not (?:found|exist|available|loaded)|does(?: not|n't) exist|no "
    r"such)|模型不存在"
    r"|tool use failed|invalid encrypted content",
    re.IGNORECASE,
)
"""What a client or an operator must correct. The words are apart: see `_apart`."""

_VALUES = re.compile(
    r"\b(?:temperature|top p|(?:presence|frequency) penalty|top k|min p|max tokens)\b.{0,80}"
    r"(?:\bbetween\b|\brange\b|(?:less|greater|larger|smaller|more) than|at "
    r"(?:most|least)|[<>]=?).{0,12}\d",
    re.IGNORECASE | re.DOTALL,
)
"""A value outside of its range."""

_PATH = re.compile(
    r"[^\s\"'`]*\b(?:properties|parameters|functions?|tools?|messages)[.\[/][^\s\"'`]*|File "
    r"\"[^\"]*\"",
    re.IGNORECASE,
)
"""A place in the request, or in a server's program: it can contain any word."""

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


def _apart(text: str) -> str:
    """Return a text without places, and with blanks between the words of a name."""
    return _HUMP.sub(" ", _PATH.sub("", text))


def may_be_form(status: int, text: str) -> bool:
    """Return whether a refusal may be about the form of a request, and not about what it asks for.

    `text` is what the backend says itself, with its codes (`learned.spoken`).
    """
    if status in UNREFUSED:
        return False
    text = _apart(text)
    if _EXPLAINED.search(text) or _VALUES.search(text):
        return False
    return status in {400, 422} or _TEMPLATE.search(text) is not None


def suspects(body: Body, dialect: Dialect, own: Collection[str] = ()) -> frozenset[str]:
    """Return the lessons that change this Chat request and keep its meaning.

    `own` are the parameters that the client wrote for the backend itself: they are not omitted.
    """
    return frozenset(
        {
            *_parameters(body, own),
            *_forms(body),
            *_tools(body),
            *_messages(body["messages"], dialect),
        }
    )


def value_lesson(name: str, value: Any) -> str:
    """Return the lesson that a backend refuses a parameter with this value; with any, if it is an identifier.

    >>> value_lesson("temperature", 1.9), value_lesson("user", "me")
    ('temperature=1.9', 'user')
    """  # noqa: E501 - a table, a diagram or an example
    if name == "stream_options" or (isinstance(value, str) and name not in _WORDS):
        return name
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    displayed = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if isinstance(value, dict | list) or len(displayed) > _LONGEST:
        displayed = digest_of(value)
    return f"{name}{VALUE}{displayed}"


def omit(body: dict[str, Any], lessons: Collection[str], own: Collection[str] = ()) -> list[str]:
    """Omit from a request the parameters with values that were refused, except `own`; return their
    names.
    """
    named = {lesson.partition(VALUE)[0] for lesson in lessons if VALUE in lesson}
    found = [
        name for name in named & body.keys() - set(own) if value_lesson(name, body[name]) in lessons
    ]
    for name in found:
        del body[name]
    return sorted(found)


def _parameters(body: Body, own: Collection[str]) -> Iterator[str]:
    for name, value in body.items():
        if (
            name not in _MEANING
            and name not in own
            and not (name == "parallel_tool_calls" and value is False)
        ):
            yield value_lesson(name, value)


def _forms(body: Body) -> Iterator[str]:
    if not body.get("stream"):
        yield from ("stream.always", "stream_options")  # a stream would have them
    if body.get("tool_choice") not in (None, "auto", "none"):
        yield "tools.auto"
    if "response_format" in body:
        yield "tools.format" if body.get("tools") else "text.format"


def _tools(body: Body) -> Iterator[str]:
    functions = [
        tool["function"] for tool in body.get("tools", ()) if tool.get("type") == "function"
    ]
    form = (body.get("response_format") or {}).get("json_schema") or {}
    if any(one.get("strict") for one in (*functions, form)):
        yield "strict"
    for function in functions:
        schema = function.get("parameters")
        if isinstance(schema, dict) and plain(schema) not in (None, schema):
            yield PLAIN_LESSON + digest_of(schema)


def _messages(messages: list[Any], dialect: Dialect) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if any(role in {"system", "developer"} for role in roles[1:]):
        yield "messages.first"
    if "developer" in roles:
        yield "messages.role"
    if any(first == second != "tool" for first, second in pairwise(roles)):
        yield "messages.turns"
    contents = [message.get("content") for message in messages]
    if any(
        isinstance(one, list) and any(part.get("type") == "text" for part in one)
        for one in contents
    ):
        yield "messages.text"
    if any(message.get("content", "") is None for message in messages):
        yield "messages.content"
    if not dialect.reasoning_required:
        yield from (
            f"messages.{name}"
            for name in REASONING_FIELDS
            if any(name in message for message in messages)
        )
