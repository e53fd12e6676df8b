"""The tests look from outside, wait for events, and leave the wording of messages to the code."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.support import rules
from tests.support.rules import Found, copied_sentences, private_uses, sleeps

MOST_PRIVATE = 19

PRIVATE = {
    "integration/jobs/test_calls_survive.py": (
        ("_beating", "_claiming", "_running"),
        "a worker that is killed within this process: no server stops its tasks without a word",
    ),
    "integration/history/test_vision.py": (
        ("_making",),
        "all three wait for one description before one of them leaves",
    ),
    "integration/storage/test_history_cost.py": (
        ("_perform_read", "_perform_read"),
        "the rows that each statement returns",
    ),
    "integration/storage/test_heartbeat.py": (
        ("_connection", "_loop", "_writer"),
        "a connection that stops in the middle, and a writer that is busy for as long "
        "as the test wants",
    ),
    "integration/upstream/http1/test_connections.py": (
        ("_inflate",),
        "what is inflated before anybody reads it",
    ),
    "support/extras.py": (
        ("_judge", "_library", "_logged"),
        "what a process has found out about its packages",
    ),
    "support/sqlite_steps.py": (("_reader",), "SQLite counts the steps of its connection alone"),
    "unit/sharing/test_scheduler.py": (("_tags",), "a bound of memory that no answer shows"),
    "unit/telemetry/test_loop_watchdog.py": (
        ("_stack", "_stack"),
        "the moment in which the stack is read",
    ),
    "unit/translation/test_citations.py": (("_text",), "a bound of memory that no answer shows"),
    "unit/translation/test_cited_text.py": (
        ("_retained",),
        "a bound of memory that no answer shows",
    ),
}
"""The uses of Antiphon's private names, by file, each with its reason."""

OF_OTHERS = {
    "integration/storage/sqlite/test_forks.py": (
        "_exit",
        "_exit",
    ),  # the end of a forked process, without pytest's
    "support/e2b.py": (
        "_transport",
    ),  # asyncio closes the pipes of a process only with its last reader
    "support/mcp_server.py": ("_send",),  # the MCP SDK's own example passes the request's `_send`
    "support/watched.py": ("_current_frames",),  # the documented way to a thread's stack
    "system/deploy/proxies.py": ("_transport",),
    "system/faults/cluster.py": ("_transport",),
}
"""Private names of other packages."""

SLEEPS = {
    # the one loop that waits, the turns of the loop, and a server that is slow on purpose
    "support/waiting.py": 3,
    "unit/simulation/test_loop.py": 6,  # simulated time, which costs nothing
    "support/watched.py": 1,  # a thread that looks at a process every few milliseconds
}

SENTENCES = {
    "integration/cli/test_serve.py": ("store sqlite:///~/",),  # the documented place of the store
    "integration/server/resources/test_message_parameters.py": (
        "This model does not support assistant message",
    ),  # Anthropic's text
    "integration/runs/test_hosted_tools.py": ("Error retrieving tool list",),  # OpenAI's text
    "integration/server/test_errors.py": ("Unknown request URL",),  # OpenAI's text
    "integration/server/test_file_search.py": ("No vector store found",),  # OpenAI's text
    "integration/server/test_threats.py": ("The server had an error",),  # OpenAI's text
    "system/cli/test_launch.py": (
        "antiphon: `antiphon serve` did not start.",
    ),  # composed with its cause and advice
    "system/clients/test_ai_sdk.py": (
        "Error retrieving tool list",
    ),  # OpenAI's text, as a client shows it
    "system/test_examples.py": ("Agent: The tool returned",),  # the whole dialogue of an example
    "unit/protocol/messages/test_decoding.py": (
        "context_managment: Extra inputs are not permitted",
    ),  # Anthropic's text, which Claude Code searches
    "unit/protocol/validation/test_schema_rules.py": (
        "Invalid schema for response_format",
    ),  # OpenAI's text
    "unit/translation/from_messages/test_conversation.py": (
        "ids were found without `tool_result`",
        "unexpected `tool_use_id` found",
    ),  # Anthropic's text, which clients search
    "unit/translation/tool_mapping/test_choice.py": (
        "Be kind.",
        "Answer with a call",
    ),  # what the model reads
    "unit/translation/to_chat_completions/test_messages.py": (
        "[Something stood here",
    ),  # a prompt: what the model reads
    "unit/translation/to_chat_completions/test_prompt_tools.py": (
        "write your answer as a JSON",
    ),  # a prompt: what the model reads
    "unit/translation/to_chat_completions/test_request.py": (
        "Tool choice 'g' not found",
    ),  # OpenAI's text
}
"""The sentences that are the contract, by file."""


def names(found: Iterable[Found]) -> dict[str, Sequence[str]]:
    """What was found in each file."""
    return {
        file: tuple(sorted(one.what for one in found if one.file == file))
        for file in {one.file for one in found}
    }


@pytest.mark.wide
def test_private_names_are_used_where_no_public_one_shows_the_claim() -> None:
    allowed = {file: used for file, (used, _) in PRIVATE.items()} | OF_OTHERS
    assert names(private_uses()) == allowed
    assert sum(len(used) for used, _ in PRIVATE.values()) <= MOST_PRIVATE


def test_no_test_sleeps() -> None:
    found = [one for one in sleeps() if not one.file.startswith(("system/", "soak/"))]
    assert Counter(one.file for one in found) == SLEEPS, "wait with tests/support/waiting.py"


@pytest.mark.wide
def test_no_assertion_copies_a_sentence_that_is_not_the_contract() -> None:
    found = copied_sentences()
    unknown = [str(one) for one in found if not one.what.startswith(SENTENCES.get(one.file, ()))]
    assert unknown == [], "assert on the type, the code, and the names and numbers in the message"
    assert {one.file for one in found} == set(SENTENCES)


CODE = """
import asyncio
from time import sleep
from antiphon.jobs._inner import work
from antiphon.jobs import _other
async def test_it(monkeypatch, thing, record):
    self._own = thing._held
    monkeypatch.setattr(thing, "_clock", None)
    monkeypatch.setattr("antiphon.jobs.worker._beat", None)
    record._replace(a=1).__dict__
    await asyncio.sleep(0)
    assert str(thing) == "The backend 'a' did not answer in time. Try again in a moment."
    with pytest.raises(ValueError, match="did not answer in time. Try again in a moment."):
        work("It did not answer in time. Try again in a moment.")
    assert thing == "did not answer in time."
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("src", "tests"):
        (tmp_path / folder).mkdir()
    text = "f\"The backend '{name}' did not answer in time. Try again in a moment.\""
    (tmp_path / "src" / "a.py").write_text(f"def say(name):\n    return {text}\n")
    (tmp_path / "tests" / "test_a.py").write_text(CODE)
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    return tmp_path


def test_a_private_name_is_found_however_it_is_used(tree: Path) -> None:
    assert names(private_uses()) == {"test_a.py": ("_beat", "_clock", "_held", "_inner", "_other")}


def test_a_sleep_is_found_where_it_is_called_or_imported(tree: Path) -> None:
    assert names(sleeps()) == {"test_a.py": ("asyncio.sleep", "sleep")}


def test_a_copied_sentence_is_found_in_assertions_alone(tree: Path) -> None:
    assert [one.line for one in copied_sentences()] == [12, 13]
