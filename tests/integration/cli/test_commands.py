"""The other commands, and how each refuses what it cannot do."""

from pathlib import Path

import pytest

from antiphon import __version__
from tests.support.cli import antiphon
from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse

UNAVAILABLE = "http://127.0.0.1:9/v1"
REFUSED = (
    f"Backend '127.0.0.1:9' ({UNAVAILABLE}) is unreachable: connection refused. "
    "Check that it is running."
)


async def test_it_prints_its_version(tmp_path: Path) -> None:
    done = await antiphon(tmp_path, "--version")

    assert (done.code, done.out, done.err) == (0, f"antiphon {__version__}\n", "")


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["serve", "--help"], ["ask", "--help"], ["models", "--help"]]
)
async def test_it_helps(tmp_path: Path, arguments: list[str]) -> None:
    done = await antiphon(tmp_path, *arguments)

    assert (done.code, done.err) == (0, "")
    assert "Usage: " in done.out


async def test_models_are_a_table_with_where_each_is(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.models = [{"id": "qwen[/red]"}, {"id": "[bold]m"}]
    done = await antiphon(tmp_path, "models", "--backend", backend.url, "--backend", UNAVAILABLE)

    assert (done.code, done.err) == (0, f"antiphon: {REFUSED}\n")
    rows = [line for line in done.out.splitlines() if "127.0.0.1" in line]
    assert [row.split("│")[1].strip() for row in rows] == [
        "qwen[/red]",
        "[bold]m",
        "",
    ]
    assert [row.split("│")[6].strip() for row in rows] == ["", "", "unreachable"]
    assert backend.url in rows[0]
    assert not (tmp_path / ".local").exists()


async def test_models_are_called_as_clients_call_them(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.models = [{"id": "qwen:latest"}, {"id": "gone"}, {"id": "hidden"}]
    (tmp_path / "antiphon.toml").write_text(
        f'[[backends]]\nurl = "{backend.url}"\nmodels = ["gone", "new"]\n'
        f'aliases = {{ fast = "qwen", slow = "nomodel" }}\n'
        f'[[backends]]\nurl = "{UNAVAILABLE}"\naliases = {{ far = "away" }}\n'
    )
    done = await antiphon(tmp_path, "models")

    rows = [line.split("│")[1].strip() for line in done.out.splitlines() if "127.0.0.1" in line]
    assert rows == [
        *("gone", "fast → qwen", "slow → nomodel (not listed)", "new (not listed)"),
        *("far → away", ""),
    ]


async def test_an_answer_is_emitted_with_its_reasoning_and_its_id(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    chunks = sse(
        delta(reasoning_content="Hm."),
        delta(content="Once [bold] "),
        delta(content="upon"),
        delta("stop"),
    )
    backend.script = lambda request: Answer([chunks])
    done = await antiphon(tmp_path, "ask", "Say it", "--backend", backend.url)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Hm.\nOnce [bold] upon\n[resp_")
    assert backend.requests[0]["messages"] == [{"role": "user", "content": "Say it"}]


async def test_a_question_goes_on_from_an_answer(tmp_path: Path, backend: ReplayBackend) -> None:
    first = await antiphon(tmp_path, "ask", "one", "--backend", backend.url, "--model", "m")
    previous = first.out.rpartition("[")[2].rstrip("]\n")
    second = await antiphon(
        tmp_path, "ask", "two", "--backend", backend.url, "--previous", previous
    )

    assert second.out.startswith("You said: two")
    assert [message["content"] for message in backend.requests[-1]["messages"]] == [
        "one",
        "You said: one ",
        "two",
    ]


async def test_ask_with_an_unknown_model_names_the_command_that_lists_them(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    done = await antiphon(tmp_path, "ask", "one", "--backend", backend.url, "--model", "other")
    assert done.code == 1
    assert "'other' does not exist" in done.err and "`antiphon models`" in done.err


async def test_calls_and_refusals_are_reported_too(tmp_path: Path, backend: ReplayBackend) -> None:
    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "look", "arguments": "{}"},
    }
    reported = sse(delta(refusal="I will not."), delta(tool_calls=[call]), delta("tool_calls"))
    backend.script = lambda request: Answer([reported])
    done = await antiphon(tmp_path, "ask", "Hi", "--backend", backend.url)

    assert done.out.startswith("I will not.")
    assert "look({})" in done.out


async def test_an_answer_that_fails_is_an_error(tmp_path: Path, backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), {"error": {"message": "boom"}}, done=False)]
    )
    done = await antiphon(tmp_path, "ask", "Hi", "--backend", backend.url)

    assert done.code == 1
    assert done.out.startswith("Once")
    assert done.err == "antiphon: The backend failed: boom\n"


async def test_a_plain_answer_to_a_streaming_request_is_emitted(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([completion("Hello")], JSON)

    assert (await antiphon(tmp_path, "ask", "Hi", "--backend", backend.url)).out.startswith(
        "Hello\n"
    )


WRONG: dict[str, tuple[list[str], int, str]] = {
    "an unknown command": (["srve"], 2, "srve"),
    "an unknown flag": (["serve", "--prot", "1"], 2, "--prot"),
    "a port that is not a number": (["serve", "--port", "x"], 2, "--port"),
    "a port out of range": (["serve", "--port", "99999"], 2, "port"),
    "a flag without its value": (["serve", "--port"], 2, "--port"),
    "a surplus argument": (["serve", "now"], 2, "now"),
    "no question": (["ask"], 2, "TEXT"),
    "no URL": (["models", "--backend", "localhost:11434"], 2, "is not a URL"),
    "a status without a URL": (["status", "--url", "x"], 2, "is not a URL"),
    "a key in a URL": (
        ["models", "--backend", "http://sk-secret@127.0.0.1:9/v1"],
        2,
        "must not contain a key",
    ),
    "a file that is not there": (
        ["serve", "--config", "nowhere.toml"],
        2,
        "nowhere.toml cannot be read",
    ),
    "an unknown store": (
        ["serve", "--port", "0", "--backend", UNAVAILABLE, "--store", "redis://x"],
        2,
        "redis",
    ),
    "a store in no folder": (
        ["serve", "--port", "0", "--backend", UNAVAILABLE, "--store", "sqlite:////proc/x/a.db"],
        2,
        "",
    ),
    "a host that does not exist": (
        ["serve", "--host", "no.such.host.invalid", "--backend", UNAVAILABLE],
        2,
        "no.such.host.invalid",
    ),
    "no model": (
        ["ask", "Hi", "--backend", UNAVAILABLE, "--store", "sqlite://"],
        1,
        f"No model is available. {REFUSED}",
    ),
    "no backend for a model": (
        ["ask", "Hi", "--model", "m", "--backend", UNAVAILABLE, "--store", "sqlite://"],
        1,
        REFUSED,
    ),
    "an answer that is not stored": (
        [
            "ask",
            "Hi",
            "--model",
            "m",
            "--backend",
            UNAVAILABLE,
            "--store",
            "sqlite://",
            "--previous",
            "resp_x",
        ],
        1,
        "Previous response with id 'resp_x' not found.",
    ),
}


@pytest.mark.parametrize(("arguments", "code", "words"), WRONG.values(), ids=WRONG)
async def test_mistakes_are_reported_on_one_line(
    tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    done = await antiphon(tmp_path, *arguments)

    assert (done.code, done.out) == (code, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith("antiphon: ")
    assert words in done.err
    assert "sk-secret" not in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ANTIPHON_LOG_LEVEL": "loud"}, "loud"),
        ({"ANTIPHON_PORT": "x"}, "port"),
        ({"ANTIPHON_BACKENDS": "http://sk-secret@127.0.0.1:9/v1"}, "must not contain a key"),
        ({"ANTIPHON_CONFIG": "nowhere.toml"}, "nowhere.toml"),
        ({"OPENAI_BASE_URL": "http://sk-secret@127.0.0.1:9/v1"}, "must not contain a key"),
    ],
)
async def test_a_wrong_variable_is_reported_on_one_line(
    tmp_path: Path, variables: dict[str, str], words: str
) -> None:
    arguments = [] if "ANTIPHON_PORT" in variables else ["--port", "0"]
    done = await antiphon(tmp_path, "serve", *arguments, "--store", "sqlite://", **variables)

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert words in done.err
    assert "sk-secret" not in done.err


@pytest.mark.parametrize(
    "arguments",
    [["models"], ["models", "--backend", UNAVAILABLE], ["models", "--backend", "EMPTY"]],
)
async def test_models_fails_where_no_model_can_be_reached(
    tmp_path: Path, backend: ReplayBackend, arguments: list[str]
) -> None:
    backend.models = []
    done = await antiphon(tmp_path, *(backend.url if one == "EMPTY" else one for one in arguments))

    assert done.code == (
        0 if arguments == ["models"] else 1
    )  # without any backend, the demo answers
