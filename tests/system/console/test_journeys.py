"""What a reader does in the console, by mouse and by keyboard alone."""

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.support.browser import needs_browser
from tests.support.console.rows import summary
from tests.support.console.server import KEY, NEW_SECRET
from tests.support.waiting import until
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(300)]

signed_out = pytest.mark.parametrize("console", [{"is_signed_in": False}], indirect=True)


@signed_out
async def test_a_reader_signs_in_with_a_key_and_out_again(console: Console) -> None:
    await console.open("", shows="Sign in to Antiphon")
    await console.page.wait_for("document.activeElement.type === 'password'")
    await console.present("sk-antiphon-bad")
    await console.page.see("The API key is unknown.")
    await console.present(KEY)
    await console.page.see("Draft the release notes")
    stored = await console.page.evaluate(
        "JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie + location.href"
    )
    assert "sk-antiphon" not in stored
    await console.choose("Sign out")
    await console.page.see("Sign in to Antiphon")


@signed_out
async def test_a_link_with_a_code_signs_in_and_leaves_the_address(console: Console) -> None:
    await console.open(f"#code={KEY}", shows="Draft the release notes")
    assert await console.page.evaluate("location.hash + history.length") == "2"


async def test_a_session_that_ends_leads_to_the_sign_in(console: Console) -> None:
    await console.open("", shows="Draft the release notes")
    console.server.is_signed_in = False
    await console.page.press("j")
    await console.page.press("Enter")
    await console.page.see("Your session has ended.")


async def test_the_keyboard_alone_finds_opens_and_leaves_a_response(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await page.press("/")
    await page.type("lighthouse")
    await page.press("Enter")
    await page.wait_for("document.querySelectorAll('tbody tr').length === 1")
    assert "q=lighthouse" in await page.evaluate("location.search")
    await page.press("j")
    await page.press("Enter")
    await page.see("Timeline")
    await page.wait_for("document.title === 'resp_0009 · Antiphon'")
    await page.press("Escape")
    await page.wait_for("location.search === '?q=lighthouse'")
    await page.press("Escape")
    await page.wait_for(
        "location.search === '' && document.querySelectorAll('tbody tr').length === 12"
    )
    await page.press("g")
    await page.press("p")
    await page.see("Instructions")
    console.check()


async def test_the_first_tab_stop_skips_the_navigation(console: Console) -> None:
    await console.open("", shows="Draft the release notes")
    await console.page.press("Tab")
    assert (
        await console.page.evaluate("document.activeElement.textContent.trim()")
        == "Skip to the content"
    )


async def test_the_list_of_shortcuts_opens_closes_and_switches_them_off(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    await page.press("?", shift=True)
    await page.see("Keyboard shortcuts")
    assert await console.findings() == []
    await console.click("dialog [role=switch]")
    await page.press("Escape")
    await page.wait_for("!document.querySelector('dialog')")
    await page.press("?", shift=True)
    assert not await page.evaluate("document.querySelector('dialog')")


async def test_a_rejected_filter_has_the_servers_reason(console: Console) -> None:
    await console.open("?q=colour:red", shows="unknown filter 'colour'")


async def test_new_responses_appear_and_wait_while_paused(console: Console) -> None:
    await console.open("", shows="Live")
    now = int(time.time() * 1000)
    await console.server.live.put(
        ("row", summary("fresh", started_ms=now, input="A fresh response"))
    )
    await console.page.see("A fresh response")
    await console.click("[aria-label='Pause live updates']")
    later = summary("later", started_ms=now, input="A later response")
    console.server.rows.insert(0, later)
    await console.server.live.put(("row", later))
    await console.page.see("1 new")
    assert "A later response" not in await console.page.evaluate("document.body.innerText")
    await console.choose("1 new")
    await console.page.see("A later response")
    console.check()


async def test_a_brush_over_the_histogram_chooses_a_time(console: Console) -> None:
    page = console.page
    await console.open("", shows="Draft the release notes")
    x, y, width = await page.wait_for(
        "(r => [r.x, r.y + 30, r.width])(document.querySelector('.histogram "
        "svg').getBoundingClientRect())"
    )
    for kind, share in (("mousePressed", 0.25), ("mouseMoved", 0.4), ("mouseReleased", 0.5)):
        await page.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x + share * width,
            y=y,
            button="left",
            clickCount=1,
        )
    await page.wait_for("/since.*until/.test(decodeURIComponent(location.search))")
    await page.see("No response matches these filters")
    assert "since:" in console.server.queries[-1]


async def test_a_response_is_deleted_after_a_confirmation(console: Console) -> None:
    await console.open("r/resp_7e08", shows="Two issues block 2.4")
    await console.click("[aria-label='More actions']")
    await console.choose("Delete…")
    await console.page.see("This permanently deletes")
    assert await console.findings() == []
    await console.click(".btn.danger")
    await console.page.see("Draft the release notes")
    assert not any(row["id"] == "resp_7e08" for row in console.server.rows)


async def test_a_background_response_is_cancelled(console: Console) -> None:
    await console.open("r/resp_0001", shows="Running")
    await console.click("[aria-label='More actions']")
    await console.choose("Cancel")
    await console.page.see("cancelled")


async def test_a_fork_fills_in_the_playground(console: Console) -> None:
    await console.open("r/resp_7e08", shows="Two issues block 2.4")
    await console.page.press("y")
    await console.page.see("A secret is missing")
    assert "Which of the open issues" in await console.page.evaluate(
        "document.querySelector('.compose textarea').value"
    )


async def test_the_code_next_to_a_message_is_exactly_what_is_sent(
    console: Console, tmp_path: Path
) -> None:
    page = console.page
    await console.open("play", shows="fast")
    await page.evaluate("document.querySelector('.panel.settings textarea').focus()")
    await page.type('Say "it\'s" - 🎉 \\ $HOME `id`')
    await page.evaluate("document.querySelector('.compose textarea').focus()")
    await page.type("It's \"quoted\",\nwith two lines and \\n, $(id) and 'x'.")
    codes = {}
    for language in ("curl", "Python", "TypeScript", "JSON"):
        await console.choose(language)
        codes[language] = await page.evaluate("document.querySelector('.source').textContent")
    await console.click("[aria-label=Send]")
    await page.see("Two issues block 2.4")
    (sent,) = console.server.bodies
    assert sent["stream"] is True
    assert json.loads(codes["JSON"]) == sent
    assert by_curl(codes["curl"], tmp_path) == sent
    assert by_python(codes["Python"], tmp_path) == sent
    console.check()


async def test_a_call_is_approved(console: Console) -> None:
    console.server.output = [
        {
            "type": "mcp_approval_request",
            "id": "mcpr_1",
            "server_label": "tracker",
            "name": "close_issue",
            "arguments": '{"number": 431}',
        }
    ]
    await console.open("play", shows="fast")
    await console.send_message("Close it.")
    await console.page.see("Allow this call?")
    assert await console.findings() == []
    await console.choose("Approve")
    await console.page.wait_for("document.body.innerText.includes('Approved')")
    await until(lambda: len(console.server.bodies) > 1)
    answer = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    assert console.server.bodies[1]["input"] == [answer]
    assert console.server.bodies[1]["previous_response_id"] == "resp_play"


async def test_models_are_compared_side_by_side(console: Console) -> None:
    await console.open("play", shows="fast")
    await console.page.wait_for(
        "document.querySelector('.lane').ariaLabel === 'Conversation with fast'"
    )
    await console.choose("Compare with another model")
    await console.page.wait_for("document.querySelectorAll('.lane').length === 2")
    await console.choose("Compare with another model")
    await console.page.wait_for("document.querySelectorAll('.lane').length === 3")
    await console.send_message("Hello")
    await console.page.wait_for("document.querySelectorAll('.lane .link').length === 3")
    assert [body["model"] for body in console.server.bodies] == ["fast", "qwen3-32b", "qwen3-coder"]
    assert await console.findings() == []


def by_curl(code: str, folder: Path) -> object:
    """Run the code with a curl that keeps its data; return the data."""
    stored = folder / "data"
    shell = f'curl() {{ for last; do :; done; printf %s "$last" > {stored}; }}\n{code}\n'
    subprocess.run(["bash", "-c", shell], check=True)
    return json.loads(stored.read_text())


def by_python(code: str, folder: Path) -> object:
    """Run the code with an SDK that prints what it receives; return that."""
    fake = """
        import json
        class OpenAI:
            def __init__(self, base_url): self.responses = self
            def create(self, extra_body=None, **body):
                print(json.dumps(body | (extra_body or {})))
                return []
    """
    (folder / "openai.py").write_text(textwrap.dedent(fake))
    (folder / "code.py").write_text(code)
    done = subprocess.run(
        [sys.executable, folder / "code.py"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


async def test_a_new_key_is_displayed_once(console: Console) -> None:
    await console.open("keys", shows="help-desk")
    await console.choose("Create a key")
    await console.page.see("Cannot sign in to the console.")
    assert await console.findings() == []
    await console.page.evaluate("document.querySelector('dialog input:not([type=radio])').focus()")
    await console.page.type("nightly")
    await console.page.press("Enter")
    await console.page.see(NEW_SECRET)
    assert await console.findings() == []
    await console.page.press("Escape")
    await console.page.wait_for(f"!document.documentElement.outerHTML.includes('{NEW_SECRET}')")
    await console.page.see("nightly")
    assert console.server.bodies[0]["name"] == "nightly"
    console.check()


async def test_a_key_is_revoked_after_a_confirmation(console: Console) -> None:
    await console.open("keys", shows="help-desk")
    await console.click("[aria-label='Actions for build']")
    await console.choose("Revoke…")
    await console.page.see("This cannot be undone.")
    await console.click(".btn.danger")
    await console.page.wait_for("document.querySelectorAll('.tag.bad').length === 2")


async def test_a_delivery_is_retried(console: Console) -> None:
    await console.open("webhooks", shows="Connection refused")
    await console.choose("Retry now")
    await console.page.see("is attempted now")
    assert console.server.noted == ["POST /admin/v1/webhook_deliveries/evt_1/retry"]


async def test_a_menu_is_used_by_keyboard_alone(console: Console) -> None:
    page = console.page
    await console.open("r/resp_7e08", shows="Two issues block 2.4")
    await page.evaluate("document.querySelector(\"[aria-label='More actions']\").focus()")
    await page.press("Enter")
    await page.wait_for("document.activeElement.getAttribute('role') === 'menuitem'")
    await page.press("ArrowDown")
    assert await page.evaluate("document.activeElement.textContent") == "Continue"
    await page.press("Escape")
    await page.wait_for("document.activeElement.getAttribute('aria-label') === 'More actions'")
    assert (await page.evaluate("location.pathname")).endswith("/r/resp_7e08")


async def test_a_chip_offers_the_models_that_answered(console: Console) -> None:
    await console.open("", shows="Draft the release notes")
    await console.click("[aria-label='Filter by model']")
    find = (
        "[...document.querySelectorAll('[role=menuitem]')]"
        r".find(each => /^qwen3-coder · \d+$/.test(each.innerText))"
    )
    await console.page.wait_for(f"{find} && ({find}.click(), true)")
    await console.page.wait_for("location.search === '?q=model%3Aqwen3-coder'")
    await console.click("[aria-label='Remove the filter model: qwen3-coder']")
    await console.page.wait_for("location.search === ''")


async def test_a_stored_response_that_waits_is_answered_in_the_playground(console: Console) -> None:
    console.server.output = [
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "get_weather",
            "arguments": "{}",
        }
    ]
    await console.open("r/resp_0010", shows="waits for an answer")
    await console.choose("Answer in the playground")
    await console.page.see("The model waits for the output of this function.")
    await console.page.evaluate("document.querySelector('.approve textarea').focus()")
    await console.page.type('{"celsius": 11}')
    await console.choose("Send output")
    await console.page.wait_for("document.body.innerText.includes('Function output')")
    output = {"type": "function_call_output", "call_id": "call_1", "output": '{"celsius": 11}'}
    assert console.server.bodies[0]["input"] == [output]
    assert console.server.bodies[0]["previous_response_id"] == "resp_0010"
