"""A list shows a bounded number of running responses."""

from antiphon.console.changes import MOST_RUNNING, newest
from tests.store.facts import new_facts


def test_the_newest_of_many_running_responses_are_listed_oldest_first() -> None:
    running = [new_facts(began=began) for began in reversed(range(2 * MOST_RUNNING))]

    assert [one.began for one in newest(running)] == list(range(MOST_RUNNING, 2 * MOST_RUNNING))
