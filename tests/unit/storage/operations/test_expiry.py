"""How much a purge may delete."""

import pytest

from antiphon.storage.operations.expiry import PURGED_FREELY, purge_size
from antiphon.storage.operations.step import Query
from antiphon.storage.records.responses import PurgeSize
from tests.support.statements import statements_of

NOW = 1000


@pytest.mark.parametrize(
    ("total", "expired", "is_too_much"),
    [
        (500, PURGED_FREELY, False),
        (500, PURGED_FREELY + 1, True),
        (100_000, 10_000, False),
        (100_000, 10_001, True),
    ],
)
def test_a_purge_deletes_a_share_of_all_responses_or_a_thousand(
    total: int, expired: int, is_too_much: bool
) -> None:
    size = statements_of(purge_size(0.1), NOW)
    most = max(PURGED_FREELY, total // 10)

    assert next(size) == Query("purge_total", ())
    assert size.send([(total,)]) == Query("purge_size", (NOW, most + 1))
    with pytest.raises(StopIteration) as ended:
        size.send([(expired,)])
    assert ended.value.value == PurgeSize(expired, total, is_too_much)
