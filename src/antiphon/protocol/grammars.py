"""Grammars of custom tools' inputs (specification section 6, `format`): checks a grammar, and a
text against it.

OpenAI compiles these grammars with llguidance, so a grammar that is valid here is valid there. Its
time is linear in the text unless a grammar is ambiguous, and it recurses as deep as the rules refer
to each other: both are limited here.
"""

from functools import cache, lru_cache
from typing import Any

from antiphon.packages import load_module
from antiphon.protocol.tools import Grammar
from antiphon.stack import with_room

LIBRARY = "llguidance"

LONGEST = 100_000
"""Bytes of an input that are checked, at about one microsecond each; a longer one is accepted
unchecked.
"""

READINGS = 200
"""Parallel parses of a text so far. They cost their square and more; a text with more is accepted
unchecked.
"""


def unsound(grammar: Grammar) -> str:
    """Return what is wrong with a grammar, empty if it is valid."""
    return _unsound(grammar.syntax, grammar.definition)


def misfit(grammar: Grammar, text: str) -> str:
    """Return in words where a text violates the grammar, empty if it matches or if checking is too
    expensive.
    """
    data = text.encode("utf-8", "surrogatepass")
    return with_room(lambda: _misfit(grammar, data)) if len(data) <= LONGEST else ""


@lru_cache(maxsize=256)
def _unsound(syntax: str, definition: str) -> str:
    wrong: str = with_room(
        lambda: _matcher().validate_grammar(_compiled(syntax, definition), _bytes())
    )
    return wrong.strip()


def _misfit(grammar: Grammar, data: bytes) -> str:
    compiled = _compiled(grammar.syntax, grammar.definition)
    matcher = _matcher()(_bytes(), compiled, log_level=0, limits=_limits())
    fitting = matcher.try_consume_tokens(list(data))
    if matcher.is_error():
        return ""
    if fitting < len(data):
        before = data[:fitting].decode("utf-8", "replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        return f"It leaves the grammar at line {line}, column {column}."
    return "" if matcher.is_accepting() else "It ends before the grammar does."


def _compiled(syntax: str, definition: str) -> str:
    make = _matcher().grammar_from_regex if syntax == "regex" else _matcher().grammar_from_lark
    return str(make(definition))


# Servers without grammars need not spend 25 ms at the start to load the library.


def _matcher() -> Any:
    return load_module(LIBRARY).LLMatcher


@cache
def _bytes() -> Any:
    return load_module(LIBRARY).LLTokenizer("byte")


@cache
def _limits() -> Any:
    return load_module(LIBRARY).LLParserLimits(max_items_in_row=READINGS)
