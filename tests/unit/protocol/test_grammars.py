import time

import pytest

from antiphon.protocol.grammars import misfit, unsound
from antiphon.protocol.tools import Grammar


def lark(definition: str) -> Grammar:
    return Grammar(syntax="lark", definition=definition)


def test_a_text_that_leaves_its_grammar_has_the_position() -> None:
    assert misfit(lark('start: ("ab" "\\n")+'), "ab\n" * 200 + "ax\n").endswith(
        " at line 201, column 2."
    )


def test_a_text_that_fits_is_not_objected_to_however_long() -> None:
    assert misfit(lark('start: ("a" | "b")+'), "ab" * 50_000) == ""


@pytest.mark.wide
@pytest.mark.parametrize("rule", ['"x" | r{}', '("x" ("y" (r{})? )* )+', "[[[[[r{}]]]]]"])
def test_rules_that_refer_to_each_other_without_end_do_not_end_the_process(rule: str) -> None:
    rules = "\n".join(f"r{i}: {rule.format(i + 1)}" for i in range(90_000 // (len(rule) + 10)))
    grammar = lark(f'start: r0\n{rules}\nr{rules.count(":")}: "z"')
    assert len(grammar.definition) < 100_000
    assert unsound(grammar) == ""
    assert misfit(grammar, "!")


@pytest.mark.parametrize(
    "rules",
    ['s: s s | s s s | "a" | "b"', "s: s s | s s s | /a/", 's: "a" s | "a"', 's: "a" s "a" | "a"'],
)
def test_an_ambiguous_grammar_costs_a_moment_and_its_text_is_taken(rules: str) -> None:
    begun = time.process_time()
    assert misfit(lark(f"start: s\n{rules}"), "a" * 20_000) == ""
    assert time.process_time() - begun < 5
