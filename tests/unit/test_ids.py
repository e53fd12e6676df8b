"""Which names a tenant can have."""

import pytest

from antiphon.ids import is_tenant_name


@pytest.mark.parametrize("name", ["acme", "a", "Acme Corp", "a" * 200, "größe", "名前", "a/b:c@d"])
def test_a_visible_name_is_a_tenants(name: str) -> None:
    assert is_tenant_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " acme",
        "acme ",
        "\u00a0acme",
        "a\tb",
        "a\nb",
        "a\x00",
        "\x1b[31m",
        "a\u200bb",
        "\ud800",
        "a" * 201,
        None,
        7,
    ],
)
def test_a_name_with_lookalikes_or_terminal_controls_is_invalid(name: object) -> None:
    assert not is_tenant_name(name)
