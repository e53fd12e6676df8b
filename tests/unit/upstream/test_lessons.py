"""Lessons hold for whom they were confirmed, and for a day; the store decides which ones stay."""

import pytest

from antiphon.upstream.lessons import EVERYONE, LIFE, MOST_LESSONS, Lesson, Lessons
from antiphon.upstream.suspicions import MOST_VALUES


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lessons(clock: Clock) -> Lessons:
    return Lessons(clock)


def test_a_lesson_holds_for_everyone(lessons: Lessons) -> None:
    lessons.learn("top_p", "No top_p.")

    assert lessons.refused == lessons.of("a") == {"top_p"}
    assert lessons.known == [Lesson("top_p", EVERYONE, "No top_p.", 1_000_000)]


def test_a_tenants_lesson_changes_no_request_of_others_until_a_second_tenant_confirms_it(
    lessons: Lessons,
) -> None:
    lessons.learn("top_p", tenant="a")
    assert (lessons.refused, lessons.of("a"), lessons.of("b")) == (
        frozenset(),
        {"top_p"},
        frozenset(),
    )

    lessons.learn("top_p", tenant="b")

    assert lessons.refused == lessons.of("c") == {"top_p"}


def test_a_lesson_is_learned_once(lessons: Lessons, clock: Clock) -> None:
    for tenant in ("a", "a", EVERYONE, "b", EVERYONE):
        clock.now += 1
        lessons.learn("top_p", tenant=tenant)

    assert [(one.tenant, one.learned_at) for one in lessons.known] == [
        ("a", 1_000_001),
        (EVERYONE, 1_000_003),
    ]


def test_stored_lessons_and_those_that_are_not_stored_yet_hold(lessons: Lessons) -> None:
    lessons.learn("top_p")
    saved = lessons.new()
    lessons.learn("user")

    lessons.follow([Lesson("temperature", EVERYONE, "", 1_000_000)], saved)

    assert lessons.refused == {"temperature", "user"}
    assert [one.name for one in lessons.new()] == ["user"]


def test_a_lesson_that_was_deleted_from_the_store_holds_no_more(lessons: Lessons) -> None:
    lessons.learn("top_p", tenant="a")

    lessons.follow([], lessons.new())

    assert lessons.of("a") == frozenset()
    assert not lessons.by_tenant


def test_a_lesson_expires_after_a_day(lessons: Lessons, clock: Clock) -> None:
    lessons.learn("top_p")
    known = lessons.known
    clock.now += LIFE + 1

    lessons.follow(known, lessons.new())

    assert lessons.refused == frozenset()


def test_the_newest_lessons_about_a_model_are_stored(lessons: Lessons, clock: Clock) -> None:
    for number in range(MOST_LESSONS + 5):
        clock.now += 1
        lessons.learn(f"tools.plain:{number}")

    assert len(lessons.refused) == MOST_LESSONS
    assert "tools.plain:4" not in lessons.refused


def test_a_parameter_with_several_refused_values_is_refused_and_no_more_values_are_learned(
    lessons: Lessons,
) -> None:
    for number in range(MOST_VALUES - 1):
        lessons.learn(f"temperature=1.{number}", tenant="a")
        assert "temperature" not in lessons.of("a")

    for number in range(MOST_VALUES, MOST_VALUES + 20):
        lessons.learn(f"temperature=1.{number}", tenant="a")

    assert len(lessons.known) == MOST_VALUES
    assert "temperature" in lessons.of("a")
    assert lessons.of("b") == frozenset()
    lessons.follow(lessons.known, lessons.new())
    assert "temperature" in lessons.of("a")


def test_a_value_is_refused_for_everyone_once_a_second_tenant_confirms_that_value(
    lessons: Lessons,
) -> None:
    for tenant, value in (("a", "1.9"), ("b", "1.8"), ("b", "1.9")):
        lessons.learn(f"temperature={value}", tenant=tenant)

    assert lessons.refused == {"temperature=1.9"}
