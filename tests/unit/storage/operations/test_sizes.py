"""Sizes of tenants: which reads block nobody."""

from antiphon.storage.operations import sizes
from antiphon.storage.operations.step import UNKNOWN_ITEMS, Query, ReadSize


def test_sums_over_all_tenants_do_not_block_the_loop() -> None:
    step = next(sizes.storage_use(10))

    assert step == ReadSize(UNKNOWN_ITEMS, 0) and step.is_large


def test_the_bytes_of_one_tenant_are_read_at_once() -> None:
    assert isinstance(next(sizes.stored_bytes("a")), Query)
