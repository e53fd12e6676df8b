"""The playground: long streams stay light, and no work is lost or shown to somebody else."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

from tests.support.browser import needs_browser
from tests.support.console.server import KEY, OTHER_KEY, streamed
from tests.support.waiting import until
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(300), pytest.mark.rotating]

Event = dict[str, Any]

FIELD = ".compose textarea"
COUNT_NODES = """
window.added = 0;
new MutationObserver(found => { for (const each of found) added += each.addedNodes.length })
  .observe(document.body, {childList: true, subtree: true});
"""
NO_STORAGE = (
    "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError') }"
)
STORED = "JSON.stringify({...sessionStorage, ...localStorage})"


def response(text: str, **more: Any) -> dict[str, Any]:
    """A completed response with one message."""
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {
        "id": "resp_play",
        "object": "response",
        "status": "completed",
        "model": "fast",
        "output": [message | {"content": [part]}],
        "usage": None,
        "error": None,
    } | more


def events_of(text: str, words: int) -> list[Event]:
    """The events of a response whose text has a delta for each of some words."""
    whole = response(text)
    *start, first, second, done, end = streamed(whole)
    size = len(text) // words
    place = {name: value for name, value in first.items() if name != "delta"}
    bounds = [*range(0, size * words, size), len(text)]
    deltas = [place | {"delta": text[here:there]} for here, there in pairwise(bounds)]
    assert second["type"] == first["type"]
    return [*start, *deltas, done, end]


async def draft(console: Console) -> str:
    """What the field has."""
    text: str = await console.page.evaluate(f"document.querySelector({FIELD!r}).value")
    return text


async def reload(console: Console, shows: str) -> None:
    """Reload the page, and wait until it shows a text."""
    await console.page.evaluate("window.isBefore = true")
    await console.page.send("Page.reload")
    await console.page.wait_for("!window.isBefore && document.querySelector('h1') !== null")
    await console.page.see(shows)


async def lane(console: Console) -> str:
    """What the first conversation shows."""
    text: str = await console.page.evaluate("document.querySelector('.lane').innerText")
    return text


async def test_a_stream_of_5000_events_adds_each_to_the_page_once(console: Console) -> None:
    text = "".join(f"Paragraph {number} of a `long` text.\n\n" for number in range(1_250))
    events = events_of(text, 5_000)
    console.server.script = [*events[:4_000], {"type": "wait"}, *events[4_000:]]
    await console.open("play", shows="fast")
    await console.page.evaluate(COUNT_NODES)
    await console.send_message("Go on")
    await console.page.wait_for("document.querySelector('.tabs .count')?.textContent === '4,000'")
    rows = "document.querySelectorAll('.panel.code .events li').length"
    assert 0 < await console.page.evaluate(rows) < 60
    added = await console.page.evaluate("added")
    assert added < 2 * 4_000, f"{added / 4_000} nodes for each event"
    for tab in ("Times", "JSON", "Events"):
        await console.choose(tab) if tab != "Events" else await console.click("[id$=-events]")
    console.server.go.set()
    await console.page.see("Paragraph 1249 of a long text.")
    last = "document.querySelector('.events li:last-child').innerText"
    await console.page.wait_for(f"{last}.startsWith('5005') && {last}.includes('completed')")
    first = "document.querySelector('.events li').innerText"
    await console.page.evaluate("document.querySelector('.event-box').scrollTop = 0")
    await console.page.wait_for(f"{first}.startsWith('0') && {first}.includes('created')")
    assert await console.page.evaluate(rows) < 60
    assert await console.findings() == []
    await console.choose("Times")
    assert await console.page.evaluate(rows) < 10
    console.check()


async def test_a_stream_of_12000_events_forgets_its_oldest_rows(console: Console) -> None:
    console.server.script = events_of("word " * 12_000, 12_000)
    await console.open("play", shows="fast")
    await console.send_message("Go on")
    await console.page.see("Open this response")
    await console.page.wait_for("document.querySelector('.tabs .count')?.textContent === '12,006'")
    await console.page.see("of 12,006")
    await console.page.evaluate("document.querySelector('.event-box').scrollTop = 1e9")
    await console.page.wait_for(
        "document.querySelector('.events li:last-child').innerText.startsWith('12005')"
    )
    assert await console.page.evaluate("document.querySelectorAll('.events li').length") < 60
    console.check()


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_an_answer_of_30_mb_is_bounded(console: Console, is_streamed: bool) -> None:
    whole = response("word " * 6_000_000)
    console.server.output = whole["output"]
    console.server.script = streamed(whole)
    await console.open("play", shows="fast")
    if not is_streamed:
        await console.page.evaluate(
            "[...document.querySelectorAll('label')].find(each => each.innerText === 'Stream')"
            ".click()"
        )
    await console.send_message("Go on")
    await console.page.see("Show 100,000 of 29,992,000 more characters")
    assert await console.page.evaluate("document.body.innerText.length") < 40_000
    await console.page.see("A reload loses files and texts of more than 1.0 MB")
    console.check()


async def test_a_growing_text_that_is_very_long_shows_its_end(console: Console) -> None:
    events = events_of("word " * 40_000 + "the end", 40)
    console.server.script = [*events[:-2], {"type": "wait"}, *events[-2:]]
    await console.open("play", shows="fast")
    await console.send_message("Go on")
    await console.page.see("192,007 earlier characters are shown at the end.")
    await console.page.see("word the end")
    assert len(await lane(console)) < 9_000
    console.server.go.set()
    await console.page.see("Show 100,000 of 192,007 more characters")
    console.check()


async def test_a_long_stream_can_be_stopped(console: Console) -> None:
    console.server.script = [*events_of("word " * 2_000, 2_000)[:-2], {"type": "wait"}]
    await console.open("play", shows="fast")
    await console.send_message("Go on")
    await console.page.wait_for(
        "parseInt(document.querySelector('.tabs .count')?.textContent) >= 2"
    )
    await console.click("[aria-label=Stop]")
    await console.page.wait_for("document.querySelector('[aria-label=Send]') !== null")
    console.server.go.set()
    console.server.script = None
    await console.send_message("And now?")
    await console.page.see("Two issues block 2.4")
    first, second = console.server.bodies
    assert [item.get("role") for item in second["input"]] == ["user", "assistant", "user"]
    assert first["input"] == "Go on"


async def test_a_draft_and_a_conversation_survive_a_reload(console: Console) -> None:
    await console.open("play", shows="fast")
    await console.write(".panel.settings textarea", "Be brief.")
    await console.send_message("What blocks 2.4?")
    await console.page.see("Open this response")
    await console.write(FIELD, "my precious draft")
    await reload(console, "Two issues block 2.4")
    assert await draft(console) == "my precious draft"
    assert "What blocks 2.4?" in await lane(console)
    await console.page.press("Tab")
    await console.send_message("Who fixes them?")
    await until(lambda: len(console.server.bodies) == 2)
    second = console.server.bodies[1]
    assert second["previous_response_id"] == "resp_play"
    assert (second["input"], second["instructions"]) == ("Who fixes them?", "Be brief.")
    await console.choose("New conversation")
    await reload(console, "Write a message below")
    assert await draft(console) == ""
    console.check()


async def test_a_fork_is_filled_in_once_and_its_secrets_are_not_stored(console: Console) -> None:
    await console.open("play?from=resp_7e08", shows="A secret is missing")
    tool = {"type": "mcp", "server_label": "tracker", "server_url": "https://tracker.example"}
    await console.click("[aria-label='Edit tracker']")
    await console.write("dialog textarea", json.dumps(tool | {"authorization": "sk-of-a-tool"}))
    await console.choose("Save")
    await console.write(FIELD, "another question")
    await console.page.wait_for("!document.body.innerText.includes('A secret is missing')")
    await reload(console, "A secret is missing")
    assert "sk-of-a-tool" not in await console.page.evaluate(STORED)
    assert await draft(console) == "another question"
    await console.open("play", shows="Write a message below")
    assert await draft(console) == ""
    await console.open("play?from=resp_7e08", shows="fork of")
    await console.choose("Fill in again")
    await console.page.wait_for(f"document.querySelector({FIELD!r}).value.startsWith('Which of')")


async def test_the_message_field_is_disabled_until_a_fork_is_filled_in(console: Console) -> None:
    console.server.answers.clear()
    await console.page.goto(f"{console.url}play?from=resp_7e08")
    await console.page.wait_for(f"document.querySelector({FIELD!r}) !== null")
    for selector in (FIELD, "[aria-label=Send]"):
        assert await console.page.evaluate(
            f"document.querySelector({selector!r}).matches(':disabled')"
        )
    console.server.answers.set()
    await console.page.wait_for(f"document.querySelector({FIELD!r}).value.startsWith('Which of')")
    await console.write(FIELD, "another question")
    assert await draft(console) == "another question"
    console.check()


async def test_the_message_field_is_usable_after_a_fork_could_not_be_loaded(
    console: Console,
) -> None:
    await console.page.goto(f"{console.url}play?from=resp_unknown")
    await console.page.see("This response does not exist.")
    await console.send_message("another question")
    await until(lambda: len(console.server.bodies) == 1)
    assert console.server.bodies[0]["input"] == "another question"


async def test_a_session_that_ends_keeps_the_work_for_its_key_alone(console: Console) -> None:
    await console.open("play", shows="fast")
    await console.send_message("What blocks 2.4?")
    await console.page.see("Open this response")
    console.server.is_signed_in = False
    await console.send_message("my precious draft")
    await console.present(OTHER_KEY, shows="Your session has ended.")
    await console.page.see("Write a message below")
    assert "precious" not in await console.page.evaluate("document.documentElement.outerHTML")
    await console.send_message("of the other key")
    await console.page.see("Open this response")
    console.server.is_signed_in = False
    await console.open("play", shows="Sign in to Antiphon")
    await console.present(KEY)
    await console.page.see("What blocks 2.4?")
    assert await draft(console) == "my precious draft"
    assert "of the other key" not in await lane(console)
    await console.choose("Sign out")
    await console.page.see("Sign in to Antiphon")
    stored = await console.page.evaluate(STORED)
    assert "What blocks" not in stored
    assert "of the other key" in stored
    await console.present(KEY)
    await console.page.see("Write a message below")
    assert await draft(console) == ""


async def test_a_failed_message_is_not_sent_again_with_the_next(console: Console) -> None:
    server = console.server
    await console.open("play", shows="fast")
    await console.send_message("Hello")
    await console.page.see("Open this response")
    server.failures = [(400, "Invalid image.")]
    await console.send_message("a bad one")
    await console.page.see("Invalid image.")
    await console.page.see("req_0a1b")
    assert await console.findings() == []
    assert await draft(console) == "a bad one"
    await console.send_message("a good one")
    await until(lambda: len(server.bodies) == 3)
    assert server.bodies[2]["input"] == "a good one"
    assert server.bodies[2]["previous_response_id"] == "resp_play"
    await console.page.wait_for("!document.body.innerText.includes('a bad one')")


async def test_a_failed_message_is_retried_or_removed(console: Console) -> None:
    server = console.server
    await console.open("play", shows="fast")
    server.failures = [(503, "No backend."), (503, "Still no backend.")]
    await console.send_message("try me")
    await console.page.see("No backend.")
    await console.choose("Retry")
    await console.page.see("Still no backend.")
    await console.choose("Retry")
    await console.page.see("Open this response")
    assert [body["input"] for body in server.bodies] == ["try me"] * 3
    assert await draft(console) == ""
    server.failures = [(400, "Invalid image.")]
    await console.send_message("a bad one")
    await console.page.see("Invalid image.")
    await console.page.evaluate(
        "[...document.querySelectorAll('.lane-turn')].at(-1).querySelector("
        "'.lane-turn-actions button:last-child').click()"
    )
    await console.page.wait_for("document.querySelectorAll('.lane-turn').length === 1")
    assert await draft(console) == ""


async def test_an_earlier_message_is_edited_or_removed(console: Console) -> None:
    server = console.server
    await console.open("play", shows="fast")
    for number, text in enumerate(("first", "second", "third"), 1):
        await console.send_message(text)
        await console.page.wait_for(
            f"document.querySelectorAll('.lane-turn').length === {number} && "
            "document.querySelector('[aria-label=Send]') !== null"
        )
    turn = "document.querySelectorAll('.lane-turn')[{}]"
    turn += ".querySelectorAll('.lane-turn-actions button')[{}]"
    await console.page.evaluate(turn.format(0, 1) + ".click()")
    await console.page.wait_for("document.querySelectorAll('.lane-turn').length === 2")
    await console.send_message("fourth")
    await until(lambda: len(server.bodies) == 4)
    assert "previous_response_id" not in server.bodies[3]
    texts = [item for item in server.bodies[3]["input"] if item.get("role") == "user"]
    assert [item["content"][0]["text"] for item in texts] == ["second", "third", "fourth"]
    await console.page.wait_for("document.querySelector('[aria-label=Send]') !== null")
    await console.page.evaluate(turn.format(1, 0) + ".click()")
    await console.page.see("Sending replaces the marked message")
    assert await draft(console) == "third"
    await console.send_message("another third")
    await until(lambda: len(server.bodies) == 5)
    texts = [item for item in server.bodies[4]["input"] if item.get("role") == "user"]
    assert [item["content"][0]["text"] for item in texts] == ["second", "another third"]
    assert await console.page.evaluate("document.querySelectorAll('.lane-turn').length") == 2


async def test_a_stream_that_is_lost_is_not_continued(console: Console) -> None:
    server = console.server
    server.script = [*events_of("half of it", 2)[:-3], {"type": "wait"}, {"type": "cut"}]
    await console.open("play", shows="fast")
    await console.send_message("Go on")
    await console.page.see("half")
    server.go.set()
    await console.page.see("The server does not have the response.")
    assert server.noted == ["/v1/responses/resp_play"] * 3
    assert "tries again when you reload" not in await lane(console)
    await console.page.see("Open this response")
    server.script = None
    await console.send_message("And now?")
    await until(lambda: len(server.bodies) == 2)
    assert server.bodies[1]["input"] == "And now?"
    assert "previous_response_id" not in server.bodies[1]


async def test_a_background_stream_resumes_by_itself_after_a_restart(console: Console) -> None:
    server = console.server
    events = events_of("all of it is here", 4)
    server.script = [*events[:4], {"type": "wait"}, {"type": "cut"}]
    server.found = [503, [*events[:6], {"type": "wait"}, {"type": "cut"}], events]
    await console.open("play", shows="fast")
    await console.page.evaluate(
        "[...document.querySelectorAll('label')].find(each => each.innerText === 'Background')"
        ".click()"
    )
    await console.page.see("webhooks")
    await console.send_message("Go on")
    count = "document.querySelector('.tabs .count')?.textContent === '{}'"
    await console.page.wait_for(count.format(4))
    server.go.set()
    await console.page.see("Looking for the response")
    await console.page.wait_for(count.format(6))
    server.go.set()
    await console.page.see("all of it is here")
    await console.page.see("Open this response")
    assert [path.partition("?")[2] for path in server.noted] == [
        "stream=true&starting_after=3",
        "stream=true&starting_after=3",
        "stream=true&starting_after=5",
    ]
    await console.page.wait_for(count.format(len(events)))


async def test_a_reload_finds_a_response_that_was_running(console: Console) -> None:
    server = console.server
    server.script = [*events_of("half of it", 2)[:-3], {"type": "wait"}]
    server.found = [response("all of it")]
    await console.open("play", shows="fast")
    await console.send_message("Go on")
    await console.page.see("half")
    await reload(console, "all of it")
    server.go.set()
    assert len(server.bodies) == 1
    await console.send_message("And now?")
    await until(lambda: len(server.bodies) == 2)
    assert server.bodies[1]["previous_response_id"] == "resp_play"


async def test_a_fork_shows_the_items_before_its_message(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [
        {"type": "message", "role": ("user", "assistant")[number % 2], "content": f"said {number};"}
        for number in range(501)
    ]
    request = {"request": {"model": "fast", "input": items, "previous_response_id": None}}
    monkeypatch.setattr("tests.support.console.one.request", lambda row: request)
    await console.open("play?from=resp_7e08", shows="500 earlier items")
    assert await draft(console) == "said 500;"
    assert "said 499;" not in await lane(console)
    await console.click(".lane-history")
    await console.page.see("said 450;")
    assert "said 449;" not in await lane(console)
    await console.click(".lane-history")
    await console.page.see("said 400;")
    assert await console.findings() == []


async def test_a_browser_without_storage_reports_that_a_reload_loses_the_work(
    console: Console,
) -> None:
    await console.page.send("Page.addScriptToEvaluateOnNewDocument", source=NO_STORAGE)
    await console.open("play", shows="fast")
    await console.send_message("Hello")
    await console.page.see("A reload loses all of it")
    await console.page.see("Two issues block 2.4")
    console.check()


async def test_a_large_file_is_sent_and_reported_as_not_stored(
    console: Console, tmp_path: Any
) -> None:
    large = tmp_path / "large<b>.txt"
    await asyncio.to_thread(large.write_bytes, b"x" * 1_500_000)
    await console.open("play", shows="fast")
    await console.write(FIELD, "Read it")
    await console.attach(large)
    await console.page.see("A reload loses large<b>.txt (1.5 MB)")
    await console.page.evaluate(f"document.querySelector({FIELD!r}).focus()")
    await console.page.press("Enter")
    await console.page.see("A reload loses files and texts of more than 1.0 MB in the conversation")
    await reload(console, "Two issues block 2.4")
    await console.choose("Edit")
    await console.page.see("Sending replaces the marked message")
    assert await draft(console) == "Read it"


async def test_code_of_an_answer_is_copied_and_the_request_wraps(console: Console) -> None:
    code = "print('<b>')\n" * 3
    console.server.script = streamed(response(f"Run this:\n\n```python\n{code}```\n"))
    await console.open("play", shows="fast")
    for width in (1440, 1280):
        await console.page.resize(width)
        assert await console.page.wait_for(
            "(each => each.scrollWidth <= each.clientWidth)(document.querySelector('.source'))"
        )
    await console.send_message("Code, please")
    await console.page.see("Run this:")
    await console.page.evaluate(
        "navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve() }"
    )
    await console.click("[aria-label='Copy this code']")
    assert await console.page.wait_for("window.copied") == code.rstrip("\n")


async def test_a_failure_within_a_stream_has_the_request_and_the_response(console: Console) -> None:
    error = {"code": "server_error", "message": "The backend went away."}
    failed = response("", status="failed", error=error, output=[])
    start = failed | {"status": "in_progress", "error": None}
    console.server.script = [
        {"type": "response.created", "response": start},
        {"type": "response.failed", "response": failed},
    ]
    await console.open("play", shows="fast")
    await console.send_message("Go on")
    await console.page.see("The backend went away.")
    links = "[...document.querySelectorAll('.lane .link')].map(each => each.pathname).join()"
    assert await console.page.evaluate(links) == "/console/r/req_0a1b,/console/r/resp_play"
    assert await console.findings() == []


async def test_long_texts_are_shortened_in_the_code_and_whole_in_its_copy(console: Console) -> None:
    long = "text of a file " * 1_000
    await console.open("play", shows="fast")
    await console.write(FIELD, long)
    await console.page.see("1 long text shortened here.")
    code = await console.page.evaluate("document.querySelector('.source').innerText")
    assert "… (15,000 characters)" in code
    assert len(code) < 1_000
    await console.page.evaluate(
        "navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve() }"
    )
    await console.click("[aria-label='Copy the code']")
    assert long in await console.page.wait_for("window.copied")


async def test_the_request_to_the_backend_is_a_pane_that_takes_the_full_width(
    console: Console,
) -> None:
    await console.open("play", shows="fast")
    await console.send_message("Hello")
    await console.page.see("Open this response")
    await console.choose("Upstream request")
    pane = "document.querySelector('.json-lines')"
    await console.page.wait_for(f"{pane} && {pane}.clientWidth < innerWidth * 0.4")
    await console.click("[aria-label='Full width: Upstream request']")
    await console.page.wait_for(f"{pane}.clientWidth > innerWidth * 0.6")
    assert await console.fits()
    assert await console.findings() == []
    await console.click("[aria-label='Search Upstream request']")
    await console.page.wait_for("document.activeElement?.type === 'search'")
    await console.page.type("model")
    await console.page.see("1 of")
    await console.click("[aria-label='Full width: Upstream request']")
    await console.page.wait_for("document.querySelector('.compose')?.offsetWidth > 0")


async def test_the_fields_of_the_settings_fill_their_panel(console: Console) -> None:
    await console.open("play", shows="Temperature")
    panel = "document.querySelector('.panel.settings')"
    assert await console.page.evaluate(f"{panel}.scrollWidth <= {panel}.clientWidth")
    assert await console.page.evaluate(
        "[...document.querySelectorAll('.panel.settings .field textarea')]"
        ".every(each => each.offsetWidth === each.closest('.field').offsetWidth)"
    )


async def test_two_lanes_offer_their_comparison(console: Console) -> None:
    await console.open("play", shows="fast")
    await console.page.wait_for(
        "document.querySelector('.lane').ariaLabel === 'Conversation with fast'"
    )
    await console.choose("Compare with another model")
    await console.send_message("Hello")
    await console.page.see("Compare these responses")
    link = await console.page.evaluate("document.querySelector('.compare-lanes a').href")
    assert link == f"{console.url}compare?a=resp_play&b=resp_play"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_conversation_with_a_failure_is_accessible_on_a_phone(
    console: Console, scheme: str
) -> None:
    console.server.script = streamed(response("A list:\n\n```sh\nls\n```\n\n| a | b |\n|--|--|\n"))
    await console.page.resize(390)
    await console.page.prefer(scheme)
    await console.open("play", shows="fast")
    await console.send_message("Hello")
    await console.page.see("Open this response")
    console.server.failures = [(400, "</b><script>window.harm=1</script>\u202e" + "x" * 500)]
    await console.send_message("\u202e<img src=x onerror='window.harm=1'>" + "y" * 500)
    await console.page.see("Sending replaces the marked message")
    assert await console.page.wait_for(
        "document.querySelector('.lane .notice button').getBoundingClientRect().bottom <= "
        "document.querySelector('.compose-place').getBoundingClientRect().top"
    )
    assert await console.fits()
    assert await console.findings() == []
    assert await console.page.evaluate("window.harm") is None
