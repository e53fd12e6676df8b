"""The plainest form of a Responses request: for a refusal that nothing explains
(`dialects.plainest` has Chat's).

`suspects` names what a backend may have refused, and `simplify` changes a request as these lessons
say. The names are those of Chat's lessons where they mean the same. Every text, tool and result
stays, and so do `tool_choice` and limits.
"""

from collections.abc import Callable, Collection, Iterator
from itertools import takewhile

from antiphon.translation.dialects.dialect import PLAIN_LESSON
from antiphon.translation.dialects.plainest import value_lesson
from antiphon.translation.to_chat_completions.adjustments import FORMAT, OMITTED, SCHEMAS
from antiphon.translation.to_chat_completions.marks import SYSTEM_ROLES, marked, without_token
from antiphon.translation.to_chat_completions.plain_schemas import digest_of, plain
from antiphon.translation.to_chat_completions.schema_roots import flattened
from antiphon.translation.to_responses.request import HINTS, SEALED, Body

_STORED = frozenset({"max_tool_calls"})
"""Hints that are not omitted without a reason: they limit what is spent."""

_TEXTS = frozenset({"input_text", "output_text", "text"})

_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
"""Items with an output that is a text, or parts."""

_STATED = ("text", "stdout", "stderr")
"""Where a part of a message or of an output has what it says."""


def suspects(body: Body, requested: Collection[str], own: Collection[str] = ()) -> frozenset[str]:
    """Return the lessons that change this Responses request and keep its meaning.

    `requested` is the client's own `include`; `own` are the parameters that the client wrote for
    the backend itself.
    """
    return frozenset(
        {*_parameters(body, own), *_forms(body, requested), *_schemas(body), *_messages(body)}
    )


def simplify(body: Body, lessons: Collection[str], token: Callable[[], str]) -> list[str]:
    """Change a Responses request as these lessons say; return the names of what differs for the
    client.

    `token` returns the token that marks system messages which stay behind other messages.
    """
    adjusted = _simplify_format(body, lessons)
    if "stream.always" in lessons:
        body["stream"] = True
    for function in _functions(body):
        if _simplify_tool(function, lessons) and SCHEMAS not in adjusted:
            adjusted.append(SCHEMAS)
    if "messages.reasoning" in lessons:
        body["input"] = [item for item in body["input"] if item.get("type") != "reasoning"]
    if "messages.first" in lessons:
        _put_first(body, token)
    for item in body["input"]:
        if "messages.role" in lessons and _role(item) == "developer":
            item["role"] = "system"
        if "messages.text" in lessons and (place := _parts_in(item)):
            item[place] = _text_of(item, place)
            if place == "content":
                for name in ("id", "status"):  # an answer with these has parts
                    item.pop(name, None)
    return adjusted


# What a request has.


def _parameters(body: Body, own: Collection[str]) -> Iterator[str]:
    for name in HINTS & body.keys() - _STORED - set(own):
        if not (name == "parallel_tool_calls" and body[name] is False):
            yield value_lesson(name, body[name])
    if verbosity := (body.get("text") or {}).get("verbosity"):
        yield value_lesson("verbosity", verbosity)


def _forms(body: Body, requested: Collection[str]) -> Iterator[str]:
    if not body.get("stream"):
        yield "stream.always"
    if SEALED in body.get("include", ()) and SEALED not in requested:
        yield SEALED
    if any("strict" in one for one in (*_functions(body), _format(body))):
        yield "strict"


def _schemas(body: Body) -> Iterator[str]:
    for function in _functions(body):
        schema = function.get("parameters") or {}
        if _plain(schema)[0] not in (None, function.get("parameters")):
            yield PLAIN_LESSON + digest_of(schema)
    schema = _format(body).get("schema")
    if schema is not None and plain(schema) not in (None, schema):
        yield PLAIN_LESSON + digest_of(schema)


def _messages(body: Body) -> Iterator[str]:
    items = body["input"]
    roles = [_role(item) for item in items]
    begins = 0 if body.get("instructions") else 1
    if any(role in SYSTEM_ROLES for role in roles[begins:]):
        yield "messages.first"
    if "developer" in roles:
        yield "messages.role"
    if any(map(_parts_in, items)):
        yield "messages.text"
    if any(item.get("type") == "reasoning" for item in items):
        yield "messages.reasoning"


# What is changed.


def _functions(body: Body) -> Iterator[Body]:
    """Yield the functions among the tools, also those in a namespace."""
    for tool in body.get("tools", ()):
        yield from (
            one for one in (tool, *(tool.get("tools") or ())) if one.get("type") == "function"
        )


def _format(body: Body) -> Body:
    return (body.get("text") or {}).get("format") or {}


def _plain(schema: Body) -> tuple[Body | None, str]:
    """Return the plainest form of the schema of a function, None if it is too large; and what it
    does not say.
    """
    flat, words = flattened(schema)
    return plain(flat), words


def _is_refused(schema: Body, lessons: Collection[str]) -> bool:
    return (
        any(one.startswith(PLAIN_LESSON) for one in lessons)
        and PLAIN_LESSON + digest_of(schema) in lessons
    )


def _simplify_tool(function: Body, lessons: Collection[str]) -> bool:
    """Simplify a function; return whether its schema is another one now."""
    if "strict" in lessons:
        function.pop("strict", None)
    schema = function.get("parameters") or {}
    if not _is_refused(schema, lessons):
        return False
    form, words = _plain(schema)
    if form is None or form == schema:
        return False
    function["parameters"] = form
    if words:
        function["description"] = "\n\n".join(filter(None, (function.get("description"), words)))
    function.pop("strict", None)
    return True


def _simplify_format(body: Body, lessons: Collection[str]) -> list[str]:
    """Simplify the format of the text; return the names of what differs."""
    adjusted: list[str] = []
    text = body.get("text") or {}
    form = _format(body)
    if "verbosity" in text and not {
        "verbosity",
        value_lesson("verbosity", text["verbosity"]),
    }.isdisjoint(lessons):
        del text["verbosity"]
        adjusted.append(OMITTED["verbosity"])
        if not text:
            del body["text"]
    if "strict" in lessons:
        form.pop("strict", None)
    schema = form.get("schema")
    if schema is not None and _is_refused(schema, lessons) and (simple := plain(schema)):
        form["schema"] = simple
        form.pop("strict", None)
        adjusted.append(FORMAT)
    return adjusted


def _put_first(body: Body, token: Callable[[], str]) -> None:
    """Make the leading system messages a part of the instructions, and later ones marked messages
    of a user.
    """
    leading = list(
        takewhile(_may_lead, body["input"][:-1])
    )  # one item stays: no backend accepts an empty input
    later = body["input"][len(leading) :]
    if text := "\n\n".join(filter(None, (body.get("instructions"), *map(_system_text, leading)))):
        body["instructions"] = text
    if any(map(_system_text, later)):
        mark = token()
        later = [_marked(_without_token(item, mark), mark) for item in later]
    body["input"] = [item for item in leading if _system_text(item) is None] + later


def _may_lead(item: Body) -> bool:
    return item.get("type") == "additional_tools" or _system_text(item) is not None


def _marked(item: Body, token: str) -> Body:
    """Return a system message as a marked one of a user; another item as it is."""
    text = _system_text(item)
    return (
        item
        if text is None
        else {"type": "message", "role": "user", "content": marked(text, token)}
    )


def _role(item: Body) -> str | None:
    """Return the role of a message; None for another item, which can have a role too."""
    return item.get("role") if item.get("type") == "message" else None


def _system_text(item: Body) -> str | None:
    return _text_of(item) if _role(item) in SYSTEM_ROLES else None


def _parts_in(item: Body) -> str:
    """Return where a message or the result of a call has texts in a list, and nothing else there;
    empty if nowhere.
    """
    place = "content" if _role(item) else "output" if item.get("type") in _OUTPUTS else ""
    return place if isinstance(item.get(place), list) and _text_of(item, place) is not None else ""


def _text_of(item: Body, place: str = "content") -> str | None:
    """Return the text of an item; None if it has something else."""
    content = item.get(place)
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(part.get("type") in _TEXTS for part in content):
        return None
    return "\n\n".join(part["text"] for part in content)


def _without_token(item: Body, token: str) -> Body:
    """Return an item of a user, a model or a tool without the token in its texts."""
    for place in ("content", "output"):
        value = item.get(place)
        if isinstance(value, str):
            item = {**item, place: _clean([{"text": value}], token)[0]["text"]}
        elif isinstance(value, list):
            item = {**item, place: _clean(value, token)}
    return item


def _clean(parts: list[Body], token: str) -> list[Body]:
    """Return parts without the token, also across their borders."""
    copies = [{**part} for part in parts]
    stated = [
        (part, name) for part in copies for name in _STATED if isinstance(part.get(name), str)
    ]
    texts = without_token([{"type": "text", "text": part[name]} for part, name in stated], token)
    for (part, name), text in zip(stated, texts, strict=True):
        part[name] = text["text"]
    return copies
