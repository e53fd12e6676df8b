"""The rules and what breaks them, tied to each other both ways."""

from antiphon_verify import RULES, Violation, check_event_stream
from antiphon_verify.events.mutations import Mutation
from antiphon_verify.events.streams import STREAMS
from tests.support.cases import each
from tests.unit.testing.events.mutations import MORE


@each("rule", RULES)
def test_the_fault_of_a_rule_breaks_it_and_no_other(rule: str):
    broken = check_event_stream(RULES[rule].fault.apply(STREAMS))
    assert [violation.rule for violation in broken] == [rule]


@each(("rule", "mutation"), MORE)
def test_a_rule_is_broken_in_every_place_where_it_holds(rule: str, mutation: Mutation):
    assert rule in {violation.rule for violation in check_event_stream(mutation.apply(STREAMS))}


@each("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_rule_states_in_one_sentence_its_demand_and_its_source(rule):
    assert RULES[rule.id] is rule
    assert rule.sentence.endswith(".") and rule.sentence[0] in f"`{rule.sentence[0].upper()}"
    assert rule.source.startswith("section ")
    assert rule.level in ("must", "should")


def test_a_violation_is_one_readable_line():
    violation = Violation("item:index-next", "2 came when 1 was next", 7)
    assert str(violation) == "item:index-next at 7: 2 came when 1 was next"
    assert violation.level == "should"


def test_a_violation_counts_its_breaches_and_shows_the_first():
    events = [
        event | {"item_id": "msg_9"} if "delta" in event else event for event in STREAMS["answer"]
    ]
    [violation] = check_event_stream(events)
    first = next(event["sequence_number"] for event in events if "delta" in event)
    assert (violation.rule, violation.sequence_number, violation.times) == (
        "item:event-id",
        first,
        7,
    )
    assert str(violation).endswith("(7 times)")
