"""`antiphon responses`: a list from the store, as a table or as lines of JSON."""

import json
from pathlib import Path

from antiphon.storage.open import open_store
from antiphon.storage.operations import facts as stored_facts
from tests.store.facts import new_facts
from tests.support.cli import antiphon


async def filled(store_url: str) -> list[str]:
    store = await open_store(store_url)
    failed = {
        "status": "failed",
        "error": "rate_limit_exceeded",
        "model": "m-1",
        "began": 1_763_812_800_000,
    }
    facts = [
        new_facts(
            tenant="",
            input="Light\x1b[31m house",
            flags=16,
            **failed,
            ended=1_763_812_802_500,
            first=40,
        ),
        new_facts(
            tenant="", model="m-2", input_tokens=1_000, output_tokens=234, began=1_763_812_900_000
        ),
        new_facts(tenant="other", began=1),
    ]
    await store.write(stored_facts.put_new, facts)
    await store.close()
    return [one.id for one in facts]


async def test_responses_are_listed_newest_first(tmp_path: Path, store_url: str) -> None:
    ids = await filled(store_url)
    done = await antiphon(tmp_path, "responses", "--store", store_url)

    assert (done.code, done.err) == (0, "")
    _, newer, older = done.out.splitlines()
    assert newer.split()[:4] == ["2025-11-22", "12:01:40Z", "completed", "1,234"]
    assert ids[1] in newer and ids[2] not in done.out
    assert "2025-11-22 12:00:00Z  failed (rate_limit_exceeded)" in older
    assert "2.50 s  0.04 s" in older
    assert ids[0] in older and older.rstrip().endswith("Light [31m house")


async def test_a_long_input_is_shortened_and_nothing_else(tmp_path: Path, store_url: str) -> None:
    store = await open_store(store_url)
    facts = new_facts(
        tenant="", model="qwen3-coder:30b", input="light house " * 40, began=1_763_812_800_000
    )
    await store.write(stored_facts.put_new, [facts])
    await store.close()
    done = await antiphon(tmp_path, "responses", "--store", store_url)

    line = done.out.splitlines()[1]
    assert "2025-11-22 12:00:00Z  completed" in line
    assert "  qwen3-coder:30b  " in line and f"  {facts.id}  light house" in line
    assert line.rstrip().endswith("…") and len(line) <= 240


async def test_filters_and_a_limit_choose(tmp_path: Path, store_url: str) -> None:
    ids = await filled(store_url)
    by_status = await antiphon(
        tmp_path, "responses", "--q", "status:failed light", "--store", store_url, "--json"
    )
    newest = await antiphon(tmp_path, "responses", "--limit", "1", "--store", store_url, "--json")
    others = await antiphon(
        tmp_path, "responses", "--tenant", "other", "--store", store_url, "--json"
    )

    found = [
        [json.loads(line) for line in done.out.splitlines()] for done in (by_status, newest, others)
    ]
    assert [[one["id"] for one in each] for each in found] == [[ids[0]], [ids[1]], [ids[2]]]
    assert found[0][0]["object"] == "response.summary"
    assert found[0][0]["input"] == "Light\x1b[31m house"
    assert "\x1b" not in by_status.out


async def test_an_empty_list_has_its_reason(tmp_path: Path, store_url: str) -> None:
    none = await antiphon(tmp_path, "responses", "--store", store_url)
    filtered = await antiphon(
        tmp_path, "responses", "--tenant", "a", "--q", "status:failed", "--store", store_url
    )

    assert (none.code, none.out, filtered.out) == (0, "", "")
    assert "without an API key." in none.err
    assert "No response of tenant 'a' matches these filters." in filtered.err


async def test_a_wrong_filter_is_refused(tmp_path: Path) -> None:
    done = await antiphon(tmp_path, "responses", "--q", "colour:red", "--store", "sqlite://")

    assert done.code != 0
    assert "--q: Unknown filter 'colour'. The filters are: backend," in done.err
