"""No URL leads to this machine or into its network, however it is written and whoever follows
it.
"""

# Letters that look like others, and long lists.
# ruff: noqa: RUF001

from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.outbound.client import OutboundClient
from antiphon.outbound.fetch import Fetcher, FetchError
from antiphon.outbound.ssrf import Reach, read_networks, read_url
from tests.support.tripwire import SEEN, odd_urls, tripwire, worst_names

PLACE = "PORT"


async def test_the_tripwire_is_there_and_is_touched_where_it_is_within_reach() -> None:
    fetcher = Fetcher(Reach(read_networks(["127.0.0.0/8", "::1", "0.0.0.0"]), resolve=worst_names))
    async with tripwire() as wire:
        for url in SEEN:
            assert (
                await fetcher.fetch(url.replace("{port}", str(wire.port)), ["text/html"])
            ).body == b"secret"
        assert wire.touched == len(SEEN) > 5


def test_there_are_odd_urls_enough() -> None:
    assert len(set(odd_urls(1))) == len(odd_urls(1)) > 150


async def test_no_odd_url_is_fetched() -> None:
    fetcher = Fetcher(Reach(resolve=worst_names))
    async with tripwire() as wire:
        for url in odd_urls(wire.port):
            with pytest.raises(FetchError) as caught:
                await fetcher.fetch(url, ["text/html"])
            assert caught.value.kind in {"private", "refused"}, url
        assert wire.touched == 0


async def test_no_odd_url_is_pinned() -> None:
    for url in odd_urls(80):
        with pytest.raises((OSError, ValueError)):
            await Reach(resolve=worst_names).pin(url, plain=True)


async def test_no_odd_url_is_posted_to() -> None:
    client = OutboundClient(Reach(resolve=worst_names), 5)
    async with tripwire() as wire:
        for url in odd_urls(wire.port):
            with pytest.raises((OSError, ClientError)):
                await client.post(url.replace("http:", "https:", 1), b"{}", {})
        assert wire.touched == 0


NASTY = st.lists(
    st.sampled_from(
        [
            *"ab.:/\\@#?%[]&;,=-_~ \t\r\n\x00\u00ad\u200b。．０ⓛ１7",
            "http",
            "https",
            "://",
            "127",
            "0x7f",
            "..",
            "::1",
        ]
    )
    | st.characters(),
    max_size=12,
).map("".join)


@given(NASTY | NASTY.map("http://{}".format) | NASTY.map("https://a{}b/".format))
def test_every_program_reads_the_host_of_a_url_that_was_read_alike(text: str) -> None:
    try:
        read = read_url(text)
    except ValueError:
        return
    host = read.raw_host
    port = read.port
    assert (urlsplit(str(read)).hostname, httpx2.URL(str(read)).raw_host.decode()) == (host, host)
    assert (urlsplit(str(read)).port or read.port, httpx2.URL(str(read)).port or read.port) == (
        port,
        port,
    )
    assert read_url(str(read)) == read
