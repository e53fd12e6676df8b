"""Checks a text against a JSON Schema: structured output, and arguments for which the backend's
schema was weakened.

jsonschema-rs works in linear time except for regular expressions that need backtracking, which is
limited here. It recurses as deep as schema and value nest, so deep values are checked on a larger
stack.
"""

from functools import cache, lru_cache
from typing import Any

import msgspec

from antiphon.errors import log
from antiphon.extras import command
from antiphon.packages import is_there, load_optional
from antiphon.protocol.json_members import decode_value
from antiphon.protocol.json_slices import decode_in_slices
from antiphon.stack import with_room

JUDGE = "jsonschema_rs"
"""The module that checks. It takes 50 ms to load, so a server loads it outside the event loop
before the first text.
"""

LONGEST = 4 * 1024 * 1024
"""Characters of a text that is checked; a longer one is accepted unchecked."""

LONG = 64 * 1024
"""Characters from which a text is decoded in slices, because it can be checked next to an event
loop.
"""

SHALLOW = 200
"""Brackets that are too few to nest too deeply for any stack; a larger stack costs 0.4 ms."""

BACKTRACKING = 100_000
"""Backtracking steps of a regular expression; beyond them it counts as matched."""

_UNDECIDED = "Error executing regex"
"""The beginning of the error for a regular expression that backtracks too often."""


def misfit(schema: dict[str, Any], text: str) -> str:
    """Return in words why a text is not JSON that matches the schema; empty if it matches.

    The words quote the text. Any JSON matches an invalid schema, one with external references, and
    every schema if the extra `correct` is not installed.
    """
    if len(text) > LONGEST:
        return ""
    try:
        value = decode_in_slices(text.encode()) if len(text) > LONG else decode_value(text)
    except (ValueError, RecursionError) as error:
        return f"It is not JSON: {error}."
    try:
        encoded = msgspec.json.encode(schema)
    except RecursionError:
        return ""
    is_shallow = max(encoded.count(b"{"), text.count("{") + text.count("[")) <= SHALLOW
    return _misfit(encoded, value) if is_shallow else with_room(lambda: _misfit(encoded, value))


def _misfit(schema: bytes, value: Any) -> str:
    judge = _judge(schema)
    errors = judge.iter_errors(value) if judge is not None else ()
    wrong = next((error for error in errors if not error.message.startswith(_UNDECIDED)), None)
    if wrong is None:
        return ""
    path = "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in wrong.instance_path
    )
    return f"At ${path}: {wrong.message}."


@lru_cache(maxsize=64)
def _judge(schema: bytes) -> Any:
    """Return the validator of a schema, None if it cannot be used.

    It is loaded with the first schema to check.
    """
    judge = _library()
    if judge is None:
        return None
    options = judge.FancyRegexOptions(backtrack_limit=BACKTRACKING)
    try:
        return judge.validator_for(
            msgspec.json.decode(schema),
            validate_formats=False,
            pattern_options=options,
            offline=True,
        )
    except (ValueError, judge.ReferencingError):
        return None


@cache
def _library() -> Any:
    """Return the library that checks, None if it cannot be used.

    It has 15 MB, which most servers never need.
    """
    library = load_optional(JUDGE)
    if library is None and not is_there(JUDGE):  # else the log has what is wrong with it
        log.warning(
            "Answers are not checked against their schemas. To check them: %s", command("correct")
        )
    return library
