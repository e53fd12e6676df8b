"""Which addresses may be connected to, and what is found for a name."""

import pytest

from antiphon.outbound.lookups import Asker
from antiphon.outbound.ssrf import ANYWHERE, PrivateAddressError, Reach, read_networks

PUBLIC = "93.184.215.14"
OFFICE = read_networks(["10.1.0.0/16", "fd00:1::/32", "127.0.0.1", "::1"])


class Names:
    """Answers one list of addresses after the other, and counts how often it is asked."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.requested: list[str] = []

    async def __call__(self, name: str, asker: Asker) -> list[str]:
        self.requested.append(name)
        return self.answers[min(len(self.requested), len(self.answers)) - 1]


def reach(*answers: list[str], networks: tuple[str, ...] = ()) -> Reach:
    return Reach(read_networks(networks), resolve=Names(*answers))


@pytest.mark.parametrize(
    "address",
    [
        PUBLIC,
        "10.1.2.3",
        "127.0.0.1",
        "::1",
        "fd00:1::5efe:a00:1",
        "fd00:1::5",
        "::ffff:10.1.2.3",
        "64:ff9b::a01:203",
        "::ffff:127.0.0.1",
    ],
)
def test_listed_networks_are_reached_alongside_public_addresses_in_any_notation(
    address: str,
) -> None:
    assert Reach(OFFICE).admits(address)
    assert Reach(ANYWHERE).admits(address)


@pytest.mark.parametrize(
    "address",
    [
        "10.2.0.1",
        "127.0.0.2",
        "fd00:2::1",
        "::2",
        "169.254.169.254",
        "::ffff:10.2.0.1",
        "64:ff9b::7f00:2",
        "0.0.0.0",
    ],
)
def test_other_private_addresses_are_not(address: str) -> None:
    assert not Reach(OFFICE).admits(address)
    assert Reach(ANYWHERE).admits(address)


async def test_a_name_resolves_to_all_its_addresses_in_one_lookup() -> None:
    names = Names([PUBLIC, "2606:4700:4700::1111", PUBLIC])
    pinned = await Reach(resolve=names).pin("https://Example.com./a#b")

    assert pinned.addresses == (PUBLIC, "2606:4700:4700::1111")
    assert (str(pinned.url), pinned.url.raw_host, pinned.url.port) == (
        "https://example.com/a",
        "example.com",
        443,
    )
    assert names.requested == ["example.com"]


async def test_a_literal_address_is_checked_and_not_resolved() -> None:
    names = Names([PUBLIC])
    assert (await Reach(resolve=names).pin("https://[2606:4700:4700::1111]/")).addresses == (
        "2606:4700:4700::1111",
    )
    with pytest.raises(PrivateAddressError):
        await Reach(resolve=names).pin("https://[::ffff:127.0.0.1]/")
    assert names.requested == []


@pytest.mark.parametrize(
    "private", ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "fe80::1%lo"]
)
@pytest.mark.parametrize("is_first", [True, False])
async def test_one_private_address_among_public_ones_is_enough_to_refuse_a_name(
    private: str, is_first: bool
) -> None:
    found = [private, PUBLIC] if is_first else [PUBLIC, private]
    with pytest.raises(PrivateAddressError, match="`outgoing_networks`"):
        await reach(found).pin("https://example.com")


async def test_what_would_permit_it_is_named() -> None:
    with pytest.raises(PrivateAddressError, match="`webhook_private_addresses`"):
        await Reach(setting="webhook_private_addresses", resolve=Names(["10.0.0.1"])).pin(
            "https://example.com"
        )


async def test_plain_http_is_for_listed_networks_unless_requested() -> None:
    office = reach(
        [PUBLIC], ["10.1.0.1"], ["10.1.0.1", PUBLIC], [PUBLIC], networks=("10.1.0.0/16",)
    )
    with pytest.raises(PrivateAddressError, match="use https"):
        await office.pin("http://public.example")
    assert (await office.pin("http://wiki.office")).addresses == ("10.1.0.1",)
    with pytest.raises(PrivateAddressError, match="use https"):
        await office.pin("http://mixed.example")
    assert (await office.pin("http://public.example", plain=True)).addresses == (PUBLIC,)


async def test_a_private_address_is_refused_even_if_plain_http_is_requested() -> None:
    with pytest.raises(PrivateAddressError):
        await reach(["10.0.0.1"]).pin("http://wiki.office", plain=True)


async def test_a_name_without_an_address_is_not_known() -> None:
    with pytest.raises(OSError, match="no address"):
        await reach([]).pin("https://example.com")


async def test_an_invalid_url_is_an_error_without_a_lookup() -> None:
    names = Names([PUBLIC])
    with pytest.raises(ValueError, match="URL"):
        await Reach(resolve=names).pin("https://user@example.com")
    assert names.requested == []
