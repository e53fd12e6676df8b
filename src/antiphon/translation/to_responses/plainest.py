"""The plainest form of a Responses request: for a refusal that nothing explains (`dialects.plainest` has Chat's).

`suspects` names what a backend may have refused, and `simplify` changes a request as these lessons say. The names are
those of Chat's lessons where they mean the same. Every text, tool and result stays, and so do `tool_choice` and limits.
"""

from collections.abc import Callable, Collection, Iterator

from antiphon.translation.dialects.dialect import PLAIN_LESSON
from antiphon.translation.dialects.plainest import value_lesson
from antiphon.translation.to_chat.adjustments import FORMAT, OMITTED, SCHEMAS
from antiphon.translation.to_chat.marks import SYSTEM_ROLES, marked, without_token
from antiphon.translation.to_chat.plain_schemas import digest_of, plain
from antiphon.translation.to_chat.schema_roots import flattened
from antiphon.translation.to_responses.request import HINTS, SEALED, Body

_KEPT = frozenset({"max_tool_calls"})
"""Hints that are not omitted without a reason: they limit what is spent."""

_TEXTS = frozenset({"input_text", "output_text", "text"})


def suspects(body: Body, asked: Collection[str], own: Collection[str] = ()) -> frozenset[str]:
    """Return the lessons that change this Responses request and keep its meaning.

    `asked` is the client's own `include`; `own` are the parameters that the client wrote for the backend itself.
    """
    return frozenset({*_parameters(body, own), *_forms(body, asked), *_schemas(body), *_messages(body)})


def simplify(body: Body, lessons: Collection[str], token: Callable[[], str]) -> list[str]:
    """Change a Responses request as these lessons say; return the names of what differs for the client.

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
        if "messages.role" in lessons and item.get("role") == "developer":
            item["role"] = "system"
        if "messages.text" in lessons and (place := _parts_in(item)):
            item[place] = _text_of(item, place)
            if place == "content":
                for name in ("id", "status"):  # an answer with these has parts
                    item.pop(name, None)
    return adjusted


# What a request has.


def _parameters(body: Body, own: Collection[str]) -> Iterator[str]:
    for name in HINTS & body.keys() - _KEPT - set(own):
        if not (name == "parallel_tool_calls" and body[name] is False):
            yield value_lesson(name, body[name])
    if verbosity := (body.get("text") or {}).get("verbosity"):
        yield value_lesson("verbosity", verbosity)


def _forms(body: Body, asked: Collection[str]) -> Iterator[str]:
    if not body.get("stream"):
        yield "stream.always"
    if SEALED in body.get("include", ()) and SEALED not in asked:
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
    roles = [item.get("role") for item in items]
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
        yield from (one for one in (tool, *(tool.get("tools") or ())) if one.get("type") == "function")


def _format(body: Body) -> Body:
    return (body.get("text") or {}).get("format") or {}


def _plain(schema: Body) -> tuple[Body | None, str]:
    """Return the plainest form of the schema of a function, None if it is too large; and what it does not say."""
    flat, words = flattened(schema)
    return plain(flat), words


def _simplify_tool(function: Body, lessons: Collection[str]) -> bool:
    """Simplify a function; return whether its schema is another one now."""
    if "strict" in lessons:
        function.pop("strict", None)
    schema = function.get("parameters") or {}
    if PLAIN_LESSON + digest_of(schema) not in lessons:
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
    text, form = body.get("text") or {}, _format(body)
    if "verbosity" in text and not {"verbosity", value_lesson("verbosity", text["verbosity"])}.isdisjoint(lessons):
        del text["verbosity"]
        adjusted.append(OMITTED["verbosity"])
        if not text:
            del body["text"]
    if "strict" in lessons:
        form.pop("strict", None)
    schema = form.get("schema")
    if schema is not None and PLAIN_LESSON + digest_of(schema) in lessons and (simple := plain(schema)):
        form["schema"] = simple
        form.pop("strict", None)
        adjusted.append(FORMAT)
    return adjusted


def _put_first(body: Body, token: Callable[[], str]) -> None:
    """Make the leading system messages a part of the instructions, and later ones marked messages of a user."""
    items = body["input"]
    texts = [_text_of(item) if item.get("role") in SYSTEM_ROLES else None for item in items]
    leading = next((place for place, text in enumerate(texts) if text is None), len(items))
    said = [body.get("instructions"), *texts[:leading]]
    if leading:
        body["instructions"] = "\n\n".join(filter(None, said))
    rest = items[leading:]
    if any(texts[leading:]):
        mark = token()
        rest = [
            {"type": "message", "role": "user", "content": marked(_text_of(item) or "", mark)}
            if item.get("role") in SYSTEM_ROLES and _text_of(item) is not None
            else item
            for item in (_without_token(item, mark) for item in rest)
        ]
    body["input"] = rest


def _parts_in(item: Body) -> str:
    """Return where a message or the result of a call has texts in a list, and nothing else there; empty if nowhere."""
    place = "content" if "role" in item else "output" if str(item.get("type")).endswith("call_output") else ""
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
    for name in ("content", "output"):
        value = item.get(name)
        if isinstance(value, str):
            item = {**item, name: without_token([{"type": "text", "text": value}], token)[0]["text"]}
        elif isinstance(value, list):
            kinds = [part.get("type") for part in value]
            parts = [{**part, "type": "text"} if part.get("type") in _TEXTS else part for part in value]
            clean = without_token(parts, token)
            item = {**item, name: [{**part, "type": kind} for part, kind in zip(clean, kinds, strict=True)]}
    return item
