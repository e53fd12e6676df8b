"""The outbox: how what is due is read, and which reads block nobody."""

import pytest

from antiphon.storage.operations import webhooks
from antiphon.storage.operations.step import Query, ReadSize
from tests.support.statements import statements_of


@pytest.mark.parametrize(("count", "read"), [(0, "due"), (10, "due"), (11, "due_endpoints")])
def test_twice_the_requested_number_is_sorted_and_of_more_only_a_few_of_each_endpoint_are_read(
    count: int, read: str
) -> None:
    due = statements_of(webhooks.due(5), 1000)

    assert next(due) == Query("count_due", (1000, 11))
    step = due.send([(count,)])
    assert isinstance(step, Query) and step.query == read


def test_of_many_so_many_are_read_of_each_endpoint_that_each_tenant_has_its_share() -> None:
    due = statements_of(webhooks.due(6), 1000)
    next(due)
    due.send([(13,)])
    rows = [("we_1", "a"), ("we_2", "a"), ("we_3", "b")]

    assert due.send(rows) == Query("due_of_endpoint", ("we_1", 1000, 2))
    assert due.send([("wh_1",), ("wh_2",)]) == Query("due_of_endpoint", ("we_3", 1000, 3))
    assert due.send([("wh_5",), ("wh_6",), ("wh_7",)]) == Query(
        "due_of_endpoint", ("we_2", 1000, 2)
    )
    with pytest.raises(StopIteration) as ended:
        due.send([("wh_3",), ("wh_4",)])
    assert [(one.id, one.tenant) for one in ended.value.value] == [
        *(("wh_1", "a"), ("wh_5", "b"), ("wh_2", "a"), ("wh_6", "b"), ("wh_3", "a"), ("wh_7", "b"))
    ]


@pytest.mark.parametrize(
    ("tenant", "is_failed", "after", "values"),
    [
        (None, None, "", ("wh_z", 2, 20, 0, "")),
        ("a", True, "wh_5", ("wh_5", 1, 20, 1, "a")),
        ("a", False, "", ("wh_z", 0, 20, 1, "a")),
    ],
)
def test_a_page_of_the_outbox_is_read_without_blocking_the_loop(
    tenant: str | None, is_failed: bool | None, after: str, values: tuple[object, ...]
) -> None:
    page = statements_of(webhooks.page(tenant, 20, after, is_failed=is_failed))
    step = next(page)

    assert isinstance(step, ReadSize) and step.is_large
    assert next(page) == Query("delivery_page", values)
