"""What callers of a store name: each operation says in its parameters which rows it can see, and
has a name.
"""

import inspect
from collections import Counter
from typing import Any, get_type_hints

from antiphon.storage.operations.step import Read, Write
from tests.support.changed_stores import modules, named


def operations() -> list[Read[..., Any] | Write[..., Any]]:
    return [
        one
        for module in modules()
        for one in vars(module).values()
        if isinstance(one, Read | Write)
    ]


def names_a_tenant(operation: Read[..., Any] | Write[..., Any]) -> bool:
    """Whether its first parameter is a tenant, or a record with one."""
    name = next(iter(inspect.signature(operation.begin).parameters), "")
    return name == "tenant" or hasattr(get_type_hints(operation.begin).get(name), "tenant")


def test_the_first_argument_is_the_tenant_unless_an_operation_is_of_all_tenants() -> None:
    wrong = [one.name for one in operations() if not one.is_of_all and not names_a_tenant(one)]
    assert wrong == []


def test_no_two_operations_have_the_same_name_in_the_metrics() -> None:
    counts = Counter(one.name for one in {id(one): one for one in operations()}.values())
    assert [name for name, count in counts.items() if count > 1] == [
        "input_page"
    ]  # of two reads of one page
    assert len(named()) > 150
