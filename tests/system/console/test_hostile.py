"""Hostile text in every place that shows text: nothing runs, and nothing is requested."""

from typing import Any

import pytest

from tests.support.browser import needs_browser
from tests.system.console.conftest import Console

pytestmark = [needs_browser, pytest.mark.timeout(300), pytest.mark.rotating]

CORPUS = (
    "<script>window.harm = 1</script>",
    "<img src=x onerror='window.harm=1'><img src='http://tracker.example/p.png'>",
    "<svg onload='window.harm=1'><style>*{display:none}</style>",
    "[link](javascript:window.harm=1) ![p](http://tracker.example/p.png)",
    "</textarea></pre></script><script>window.harm=1</script>",
    "\u202egnp.exe\u200b\ufeff]]>{{constructor.constructor('window.harm=1')()}}",
    "x" * 100_000,
)


def poisoned(value: Any, text: str) -> Any:
    """Return a value with every text of it that a model or a client wrote replaced."""
    if isinstance(value, dict):
        save = {"id", "type", "object", "status", "tenant", "role", "image_url"}
        return {
            name: each if name in save else poisoned(each, text) for name, each in value.items()
        }
    if isinstance(value, list):
        return [poisoned(each, text) for each in value]
    return text if isinstance(value, str) else value


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
async def test_hostile_text_does_nothing(console: Console, text: str) -> None:
    server = console.server
    server.rows = [poisoned(row, text) for row in server.rows]
    server.output = poisoned(server.output, text)
    server.conversations = poisoned(server.conversations, text)
    server.output.append({"type": text, "id": "x", "constructor": text, "__proto__": {"a": text}})
    server.input = poisoned(server.input, text)
    server.outputs = {"resp_0004": [{"type": text, text: text, "content": [{"text": text}]}]}
    for path, shows in (
        ("", "Started"),
        ("r/resp_7e08", "Assistant"),
        ("compare?a=resp_7e08&b=resp_0004", "Timeline of B"),
        ("conversations", "items"),
        ("conversations/conv_1", "Assistant"),
        ("play", "fast"),
    ):
        await console.open(path, shows=shows)
        for width in (1440, 320):
            await console.page.resize(width)
            assert await console.fits(), (path, width)
    await console.page.resize(1440)
    await console.page.evaluate("document.querySelector('.compose textarea').focus()")
    await console.page.type("Hello")
    await console.page.press("Enter")
    await console.page.see("Open this response")
    for width in (1440, 320):
        await console.page.resize(width)
        assert await console.fits(), width
    assert await console.page.evaluate("window.harm") is None
    assert (
        await console.page.evaluate(
            "document.querySelectorAll('main script, main style, main iframe').length"
        )
        == 0
    )
    console.check()
