"""`antiphon models`: a model is probed, shown, exported and forgotten."""

import json
import time
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from antiphon.config import load_settings
from antiphon.storage.open import open_store
from antiphon.storage.operations import lessons
from antiphon.storage.records.lessons import StoredLesson
from tests.support.cli import antiphon
from tests.support.fake_ollama import FakeOllama
from tests.support.messages_backend import answering, text
from tests.support.probed_model import ProbedModel
from tests.support.replay import ReplayBackend


@pytest.fixture
def model() -> ProbedModel:
    return ProbedModel(
        thinking="tags",
        holds=False,
        rejected=("pattern",),
        listed={"id": "m", "max_model_len": 8192},
    )


@pytest.fixture
async def folder(tmp_path: Path, model: ProbedModel) -> AsyncIterator[Path]:
    """A folder with settings of one backend, `gpu`, that serves the model, also as `fast`."""
    async with model.serve() as url:
        (tmp_path / "antiphon.toml").write_text(
            f'store = "sqlite:///{tmp_path}/a.db"\n'
            f'[[backends]]\nurl = "{url}"\nname = "gpu"\naliases = {{ fast = "m" }}\n'
        )
        yield tmp_path


async def test_a_probe_prints_and_stores_what_it_found(folder: Path) -> None:
    done = await antiphon(folder, "models", "probe", "m")

    assert done.code == 0
    assert "Probed m at gpu: " in done.err
    assert "thinking_control" in done.out
    assert (
        "native tools, schemas (not held), rejects pattern, 8,192 tokens, thinks (tags), no vision"
        in done.out
    )

    verdict = (
        "Too weak for coding agents: its context window of 8,192 tokens is too small "
        "for their requests.\n"
    )
    assert done.out.endswith(verdict)

    again = await antiphon(folder, "models", "show", "fast")
    assert (again.code, again.out) == (0, done.out)


async def test_the_list_has_a_compact_profile_once_there_is_one(folder: Path) -> None:
    before = await antiphon(folder, "models")
    assert "profile" not in before.out
    assert not (folder / "a.db").exists()

    await antiphon(folder, "models", "probe", "m")
    after = await antiphon(folder, "models")

    assert "profile" in after.out
    assert "8,192" in after.out


async def test_a_probe_as_json(folder: Path, model: ProbedModel) -> None:
    done = await antiphon(folder, "models", "probe", "m", "--backend", "gpu", "--json")

    (found,) = json.loads(done.out)
    assert (found["backend"], found["model"], found["requests"]) == (
        "gpu",
        "m",
        len(model.requests),
    )
    assert found["profile"]["rejected_keywords"] == ["pattern"]
    assert found["verdict"].startswith("Too weak for coding agents: ")
    assert found["evidence"]["context_window"] == "/models, max_model_len"
    assert json.loads((await antiphon(folder, "models", "show", "m", "--json")).out) == [found]


async def test_what_is_exported_can_be_pasted_into_the_settings(folder: Path) -> None:
    await antiphon(folder, "models", "probe", "m")
    done = await antiphon(folder, "models", "export", "m")

    (table,) = tomllib.loads(done.out)["models"]
    assert (table["name"], table["backend"], table["json_held"]) == ("m", "gpu", False)
    file = folder / "antiphon.toml"
    file.write_text(file.read_text() + done.out)
    assert load_settings({}, {}, file).models[0].context_window == 8192
    assert (await antiphon(folder, "models", "export")).out == done.out


@pytest.mark.parametrize(
    ("names", "stated"), [(("m",), "No profile of the model 'm' is stored"), ((), "No profile is")]
)
async def test_an_export_without_a_profile_is_reported(
    folder: Path, names: tuple[str, ...], stated: str
) -> None:
    done = await antiphon(folder, "models", "export", *names)

    assert (done.code, done.out) == (1, "")
    assert stated in done.err


async def test_configured_values_are_displayed_as_such(folder: Path) -> None:
    await antiphon(folder, "models", "probe", "m")
    file = folder / "antiphon.toml"
    more = '[[models]]\nname = "m"\ncontext_window = 4096\nsystem_prompt = "Be kind."\n'
    file.write_text(file.read_text() + more)

    done = await antiphon(folder, "models", "show", "m")

    rows = [
        [cell.strip() for cell in line.split("│")[1:4]]
        for line in done.out.splitlines()
        if "│" in line
    ]
    assert ["context_window", "4,096", "settings"] in rows
    assert ["system_prompt", "Be kind.", "settings"] in rows
    assert ["thinking", "tags", "plain"] in rows


async def test_a_profile_is_forgotten(folder: Path) -> None:
    await antiphon(folder, "models", "probe", "m")

    assert (await antiphon(folder, "models", "forget", "m")).out == "Deleted 1 profile.\n"
    again = await antiphon(folder, "models", "forget", "m")
    assert (again.code, again.out) == (1, "")
    assert "No profile of the model 'm' is stored" in again.err
    assert "not probed" in (await antiphon(folder, "models", "show", "m")).out


async def test_the_window_is_measured_on_request(folder: Path, model: ProbedModel) -> None:
    model.window = 4096
    model.truncates = True
    done = await antiphon(folder, "models", "probe", "m", "--measure-window", "--json")

    (found,) = json.loads(done.out)
    assert 3400 <= found["profile"]["context_window"] <= 4096
    assert found["evidence"]["context_window"] == "measured"
    assert " sends gpu up to 9 long prompts. " in done.err and " 131,072 tokens" in done.err


async def test_every_unknown_fact_of_the_scripted_model_has_its_reason(tmp_path: Path) -> None:
    before = await antiphon(tmp_path, "models", "show", "demo")
    after = await antiphon(tmp_path, "models", "probe", "demo")

    assert before.out.count("unknown") == before.out.count("not probed") - 1
    reasons = [line.split("│")[3].strip() for line in after.out.splitlines() if "│ unknown" in line]
    assert {reason.split("; ")[-1] for reason in reasons} == {
        "the scripted model ignores instructions",
        "the model shows no thinking",
        "--measure-window measures it",
        "llama.cpp states it",
    }


async def test_a_backend_that_may_cost_money_is_probed_with_consent_alone(
    folder: Path, model: ProbedModel
) -> None:
    file = folder / "antiphon.toml"
    file.write_text(file.read_text() + 'dialect = "groq"\n')

    refused = await antiphon(folder, "models", "probe", "m")
    assert refused.code == 2
    assert "may cost money. Pass --paid" in refused.err
    assert model.requests == []

    assert (await antiphon(folder, "models", "probe", "m", "--paid")).code == 0
    assert model.requests


async def test_an_unknown_model_or_backend_is_named(folder: Path) -> None:
    unknown = await antiphon(folder, "models", "probe", "qwen")
    assert (unknown.code, unknown.out) == (1, "")
    assert "No backend serves the model 'qwen'." in unknown.err

    nowhere = await antiphon(folder, "models", "show", "m", "--backend", "cpu")
    assert nowhere.code == 2
    assert "Unknown backend 'cpu'. Did you mean 'gpu'? The backends are: gpu." in nowhere.err


async def test_a_backend_that_does_not_answer_is_named(folder: Path, model: ProbedModel) -> None:
    model.broken = {"prime": 503}
    done = await antiphon(folder, "models", "probe", "m")

    assert done.code == 1
    assert "The backend 'gpu'" in done.err
    assert "answered with status 503" in done.err


async def test_the_list_states_that_ollama_is_called_by_its_native_api(tmp_path: Path) -> None:
    async with FakeOllama().serve() as url:
        (tmp_path / "antiphon.toml").write_text(f'[[backends]]\nurl = "{url}"\nname = "gpu"\n')
        listed = await antiphon(tmp_path, "models")

    (row,) = [line for line in listed.out.splitlines() if "gpu" in line]
    assert row.count("ollama") == 2  # the family, and the API


async def test_the_list_and_the_doctor_state_a_messages_api(tmp_path: Path) -> None:
    async with ReplayBackend(answering([text("Hello")])).serve() as backend:
        url = backend.url.removesuffix("/v1")
        (tmp_path / "antiphon.toml").write_text(
            f'store = "sqlite:///{tmp_path}/a.db"\n'
            f'[[backends]]\nurl = "{url}"\nname = "claude"\napi = "messages"\n'
        )
        listed = await antiphon(tmp_path, "models")
        doctor = await antiphon(tmp_path, "doctor")

    (row,) = [line for line in listed.out.splitlines() if "claude" in line]
    assert row.count("messages") == 2  # the family, and the API
    assert f"Backend 'claude' ({backend.url}) lists 1 model" in doctor.out


async def test_what_refusals_taught_is_listed_and_forgotten(folder: Path) -> None:
    settings = load_settings(file=folder / "antiphon.toml", environment={})
    store = await open_store(settings.store)
    lesson = StoredLesson(
        settings.backends[0].url, "m", "", "sampling.both", "Not both.", int(time.time())
    )
    await store.write(
        lessons.put, [lesson, replace(lesson, tenant="acme", name="user", stated="")], 0
    )
    await store.close()

    assert "sampling.both, user" in " ".join((await antiphon(folder, "models")).out.split())
    output = (await antiphon(folder, "models", "show", "m", "--json")).out
    assert [one["name"] for one in json.loads(output)[0]["lessons"]] == ["sampling.both", "user"]
    table = (await antiphon(folder, "models", "show", "m")).out
    assert "Not both." in table
    assert "acme" in table
    doctor = (await antiphon(folder, "doctor")).out
    assert "for the model 'm': sampling.both is adjusted. It said: Not both." in doctor
    assert "of the tenant 'acme'" in doctor
    assert (await antiphon(folder, "models", "forget", "m")).out == "Deleted 2 lessons.\n"
    assert "sampling.both" not in (await antiphon(folder, "models")).out


async def test_facts_reported_by_llamacpp_are_displayed_before_any_probe(tmp_path: Path) -> None:
    listed = {"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 8192}}
    props = {"chat_template": "t", "chat_template_caps": {"supports_tools": False}}
    async with ProbedModel(listed=listed, stated={"/props": props}).serve() as url:
        requested = ("models", "show", "m", "--backend", url)
        output = await antiphon(tmp_path, *requested)
        one = json.loads((await antiphon(tmp_path, *requested, "--json")).out)

    row = next(line for line in output.out.splitlines() if " tools " in line)
    assert [cell.strip() for cell in row.split("│")[1:4]] == ["tools", "prompt", "/props"]
    assert one[0]["profile"] == {"tools": "prompt"}
    assert one[0]["verdict"] is None
