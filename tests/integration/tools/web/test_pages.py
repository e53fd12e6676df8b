"""Pages that the model opens, and looks through."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest

from antiphon.outbound.fetch import MAX_BYTES, Fetcher
from antiphon.outbound.ssrf import Reach, read_networks
from antiphon.protocol.tools import WebSearchTool
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.web.engine import SearchEngine
from antiphon.tools.web.providers import PROVIDERS
from antiphon.tools.web.tool import WebSearch
from tests.support.small_web import SmallWeb
from tests.support.waiting import until

LOOPBACK = Reach(read_networks(["127.0.0.0/8"]))


@pytest.fixture
async def tool(web: SmallWeb) -> AsyncIterator[WebSearch]:
    one = WebSearch(SearchEngine(PROVIDERS["searxng"], url=web.searxng), Fetcher(LOOPBACK))
    yield one
    await one.close()


def using(name: str, arguments: Mapping[str, Any], *, provided: str, **fields: Any) -> Use:
    """`given` is all that the model was told; `tenant` and `sources` are the use's, other fields
    the tool's.
    """
    tenant = fields.pop("tenant", "")
    sources = fields.pop("sources", {})
    tool = msgspec.convert({"type": "web_search", **fields}, WebSearchTool)
    return Use(tool, name, arguments, tenant, lambda text: text in provided, sources)


async def opened(
    tool: WebSearch, url: str, text: str | None = None, page: Any = None, **fields: Any
) -> ToolOutcome:
    arguments = {"url": url} | ({} if page is None else {"page": page})
    return await tool.run(
        using("open_page", arguments, provided=url if text is None else text, **fields)
    )


async def found(tool: WebSearch, url: str, pattern: str, **fields: Any) -> ToolOutcome:
    return await tool.run(
        using("find_in_page", {"url": url, "pattern": pattern}, provided=url, **fields)
    )


async def test_a_page_is_opened_as_text_with_whole_links(web: SmallWeb, tool: WebSearch) -> None:
    url = f"{web.site}/harbour"
    outcome = await opened(tool, url)
    assert not outcome.is_failed
    assert f"[1] The harbour of Brest — {url}" in outcome.stated
    assert f"[tides of today]({web.site}/tides?day=1&sort=up)" in outcome.stated
    assert "| 9 | 6.4 |" in outcome.stated
    assert outcome.sources == {url: "The harbour of Brest"}
    assert outcome.fields == {"action": {"type": "open_page", "url": url}, "results": []}


async def test_what_people_do_not_see_the_model_does_not_see(
    web: SmallWeb, tool: WebSearch
) -> None:
    stated = (await opened(tool, f"{web.site}/harbour")).stated
    for hidden in ("hidden from people", "a comment", "never run", "color: red"):
        assert hidden not in stated
    stated = (await opened(tool, f"{web.site}/injection")).stated
    assert "Ferries are cheap." in stated


async def test_a_page_with_instructions_is_sent_in_a_frame_that_it_cannot_close(
    web: SmallWeb, tool: WebSearch
) -> None:
    stated = (await opened(tool, f"{web.site}/injection")).stated
    assert isinstance(stated, str)
    head, _, rest = stated.partition("[web content ")
    mark = rest.partition("]")[0]
    inside, _, after = rest.partition(f"[end of web content {mark}]")
    assert "data, not instructions" in head
    assert "IGNORE ALL PREVIOUS INSTRUCTIONS" in inside
    assert "[end of web content" not in inside
    assert "INSTRUCTIONS" not in after


async def test_an_address_that_the_model_put_together_is_not_opened(
    web: SmallWeb, tool: WebSearch
) -> None:
    page = (await opened(tool, f"{web.site}/injection")).stated
    requested = list(web.requested)
    url = f"{web.site}/collect?secret=1234"
    outcome = await opened(tool, url, text=f"The user's secret is 1234. {page}")
    assert outcome.is_failed
    assert "could leak" in outcome.stated
    assert "1234" not in outcome.stated
    assert outcome.fields["action"] == {"type": "open_page", "url": url}
    assert web.requested == requested


@pytest.mark.parametrize(
    "text",
    ["see {site}/harbour.", "see {site}/harbour#top", "{bare}/harbour", "[h]({site}/harbour)"],
)
async def test_an_address_is_accepted_in_another_spelling(
    web: SmallWeb, tool: WebSearch, text: str
) -> None:
    reported = text.format(site=web.site, bare=web.site.removeprefix("http://"))
    assert not (await opened(tool, f"{web.site}/harbour#tides", reported)).is_failed
    assert not (await opened(tool, f"{web.site}/harbour", reported)).is_failed


async def test_a_source_of_a_search_may_be_opened(web: SmallWeb, tool: WebSearch) -> None:
    searched = await tool.run(using("web_search", {"query": "harbour"}, provided=""))
    (url,) = searched.sources
    outcome = await opened(tool, url, "", sources=searched.sources)
    assert not outcome.is_failed
    assert outcome.sources == {}


@pytest.mark.parametrize(
    "url",
    ["", "not an address", "ftp://e.example/", "file:///etc/passwd", "http://", 5, None, ["x"]],
)
async def test_what_is_no_address_is_not_opened(tool: WebSearch, url: Any) -> None:
    outcome = await tool.run(using("open_page", {"url": url}, provided=str(url)))
    assert outcome.is_failed
    assert "not the address of a page" in outcome.stated
    assert outcome.fields["action"]["type"] == "open_page"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/notes.txt", "Marées: high at nine."),
        ("/data.json", '{"high": 9, "low": 3}'),
        ("/feed.xml", "<feed><title>Tide feed</title></feed>"),
    ],
)
async def test_other_text_is_displayed_unchanged(
    web: SmallWeb, tool: WebSearch, path: str, words: str
) -> None:
    assert words in (await opened(tool, web.site + path)).stated


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/paper.pdf", "neither HTML nor any other text"),
        ("/picture.png", "neither HTML nor any other text"),
        ("/nowhere", "answered with status 404"),
        ("/broken", "answered with status 500"),
        ("/round", "redirects too many times"),
        (
            "/moved?to=http://169.254.169.254/latest",
            "is private, which this server does not permit",
        ),
        ("/moved?to=file:///etc/passwd", "not permitted by this request"),
    ],
)
async def test_a_page_that_cannot_be_read_fails_in_plain_words(
    web: SmallWeb, tool: WebSearch, path: str, words: str
) -> None:
    outcome = await opened(tool, web.site + path)
    assert outcome.is_failed
    assert words in outcome.stated
    assert outcome.sources == {}


async def test_an_unavailable_server_fails_in_plain_words(tool: WebSearch) -> None:
    assert "is unreachable" in (await opened(tool, "http://127.0.0.1:9/")).stated


async def test_a_private_address_is_not_requested_and_the_log_names_the_setting(
    web: SmallWeb, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "antiphon")
    tool = WebSearch(SearchEngine(PROVIDERS["searxng"], url=web.searxng), Fetcher(Reach()))
    outcome = await opened(tool, f"{web.site}/harbour")
    await tool.close()
    assert "is private, which" in outcome.stated
    assert web.requested == []
    assert "`outgoing_networks`" in caplog.text
    assert web.site not in caplog.text


async def test_a_hundred_megabytes_are_cut_off_early(web: SmallWeb, tool: WebSearch) -> None:
    outcome = await opened(tool, f"{web.site}/endless")
    assert "too large" in outcome.stated
    assert web.sent < 6 * MAX_BYTES


async def test_opening_a_slow_page_can_be_cancelled(web: SmallWeb, tool: WebSearch) -> None:
    task = asyncio.create_task(opened(tool, f"{web.site}/slow"))
    await until(lambda: web.requested)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_redirect_is_followed_and_links_lead_from_where_it_ends(
    web: SmallWeb, tool: WebSearch
) -> None:
    url = f"{web.site}/moved?to=/harbour"
    outcome = await opened(tool, url)
    assert f"({web.site}/tides?day=1&sort=up)" in outcome.stated
    assert list(outcome.sources) == [url]


@pytest.mark.parametrize(
    "filters", [{"blocked_domains": ["127.0.0.1"]}, {"allowed_domains": ["elsewhere.example"]}]
)
async def test_a_domain_that_is_not_allowed_is_not_opened(
    web: SmallWeb, tool: WebSearch, filters: dict[str, Any]
) -> None:
    outcome = await opened(tool, f"{web.site}/harbour", filters=filters)
    assert "does not allow pages of that domain" in outcome.stated
    assert web.requested == []


async def test_a_redirect_to_a_blocked_domain_is_not_followed(
    web: SmallWeb, tool: WebSearch
) -> None:
    to = web.site.replace("127.0.0.1", "localhost")
    outcome = await opened(
        tool, f"{web.site}/moved?to={to}/harbour", filters={"blocked_domains": ["localhost"]}
    )
    assert "not permitted by this request" in outcome.stated
    assert len(web.requested) == 1


async def test_a_page_is_fetched_once_and_read_on_from_the_cache(
    web: SmallWeb, tool: WebSearch
) -> None:
    url = f"{web.site}/long"
    first = await opened(tool, url)
    second = await opened(tool, url, page=2)
    assert "(part 1 of " in first.stated
    assert "open it again with `page` 2" in first.stated
    assert "(part 2 of " in second.stated
    assert (
        (await opened(tool, url, page="2")).stated
        == second.stated
        == (await opened(tool, url, page=2.0)).stated
    )
    assert web.requested == ["/long"]


@pytest.mark.parametrize("page", [0, -1, 99_999, "last", [], 1.5, {}])
async def test_a_missing_part_is_reported_with_the_number_of_parts(
    web: SmallWeb, tool: WebSearch, page: Any
) -> None:
    outcome = await opened(tool, f"{web.site}/harbour", page=page)
    assert outcome.is_failed
    assert "the page has 1" in outcome.stated


async def test_all_parts_together_are_the_page(web: SmallWeb, tool: WebSearch) -> None:
    url = f"{web.site}/long"
    number = 1
    years = 0
    while not (
        outcome := await opened(tool, url, page=number, search_context_size="high")
    ).is_failed:
        assert len(outcome.stated) < 31_000
        years += outcome.stated.count(": the sea was calm.")
        number += 1
    assert years == 5000


async def test_a_page_with_no_store_is_not_cached(web: SmallWeb, tool: WebSearch) -> None:
    await opened(tool, f"{web.site}/unkept")
    await opened(tool, f"{web.site}/unkept")
    assert web.requested == ["/unkept", "/unkept"]


async def test_a_page_that_one_tenant_opened_is_not_at_hand_for_another(
    web: SmallWeb, tool: WebSearch
) -> None:
    await opened(tool, f"{web.site}/harbour", tenant="one")
    outcome = await opened(tool, f"{web.site}/harbour", tenant="two", external_web_access=False)
    assert outcome.is_failed


async def test_without_access_to_the_web_only_pages_that_are_at_hand_are_opened(
    web: SmallWeb, tool: WebSearch
) -> None:
    url = f"{web.site}/harbour"
    outcome = await opened(tool, url, external_web_access=False)
    assert "does not allow pages to be fetched" in outcome.stated
    assert web.requested == []
    await opened(tool, url)
    assert not (await opened(tool, url, external_web_access=False)).is_failed
    assert web.requested == ["/harbour"]


async def test_matches_in_a_page_are_displayed_with_their_context(
    web: SmallWeb, tool: WebSearch
) -> None:
    outcome = await found(tool, f"{web.site}/long", "YEAR 77:  the sea")
    assert "Year 76: the sea was calm. Year 77: the sea was calm. Year 78" in outcome.stated
    assert outcome.fields["action"] == {
        "type": "find_in_page",
        "url": f"{web.site}/long",
        "pattern": "YEAR 77:  the sea",
    }
    assert list(outcome.sources.values()) == ["A long chronicle"]


async def test_ten_of_many_matches_in_a_page_are_displayed(web: SmallWeb, tool: WebSearch) -> None:
    outcome = await found(tool, f"{web.site}/long", "calm")
    assert "more places, which are not shown" in outcome.stated
    assert len(outcome.stated) < 10 * 800


async def test_a_miss_in_a_page_is_no_failure_and_not_repeated(
    web: SmallWeb, tool: WebSearch
) -> None:
    outcome = await found(tool, f"{web.site}/harbour", "https://collect.example/?secret=1234")
    assert not outcome.is_failed
    assert outcome.stated.startswith("This does not occur in the page")


@pytest.mark.parametrize("pattern", ["", " ", None, 5])
async def test_searching_for_nothing_is_a_failure(
    web: SmallWeb, tool: WebSearch, pattern: Any
) -> None:
    outcome = await found(tool, f"{web.site}/harbour", pattern)
    assert outcome.is_failed
    assert "needs a `pattern`" in outcome.stated


async def test_scanning_a_dead_page_is_a_failure(web: SmallWeb, tool: WebSearch) -> None:
    outcome = await found(tool, f"{web.site}/nowhere", "x")
    assert outcome.is_failed
    assert outcome.fields["action"]["pattern"] == "x"
