"""Grammars of custom tools' inputs (specification section 6, `format`): is one sound, and does a text fit it?

llguidance is what OpenAI compiles these grammars with, so what it takes here it takes there. It works in linear time,
whatever the grammar and the text.
"""

from functools import cache, lru_cache
from typing import Any

from antiphon.protocol.tools import Grammar

LONGEST = 200_000
"""Bytes of an input that are checked, at about one microsecond each; a longer one is taken as it is."""


def unsound(grammar: Grammar) -> str:
    """Return what is wrong with a grammar, empty where it is sound."""
    wrong: str = _matcher().validate_grammar(_compiled(grammar.syntax, grammar.definition), _bytes())
    return wrong.strip()


def misfit(grammar: Grammar, text: str) -> str:
    """Return in words where a text leaves the grammar, empty where it fits."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > LONGEST:
        return ""
    matcher = _matcher()(_bytes(), _compiled(grammar.syntax, grammar.definition), log_level=0)
    fitting = matcher.try_consume_tokens(list(data))
    if fitting < len(data):
        before = data[:fitting].decode("utf-8", "replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return f"It leaves the grammar at line {line}, column {column}."
    return "" if matcher.is_accepting() else "It ends before the grammar does."


@lru_cache(maxsize=256)
def _compiled(syntax: str, definition: str) -> str:
    matcher = _matcher()
    make = matcher.grammar_from_regex if syntax == "regex" else matcher.grammar_from_lark
    return str(make(definition))


@cache
def _matcher() -> Any:
    from llguidance import LLMatcher  # noqa: PLC0415 - who has no grammar need not wait 25 ms for it at the start

    return LLMatcher


@cache
def _bytes() -> Any:
    from llguidance import LLTokenizer  # noqa: PLC0415 - likewise

    return LLTokenizer("byte")
