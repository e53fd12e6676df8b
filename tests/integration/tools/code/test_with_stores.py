"""Code in real machines, with containers in both databases: files, tenants, replicas, and what is
never mixed up.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from antiphon.storage.open import open_store
from antiphon.tools.code.tool import LOST_VARIABLES
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.code import AUTO, OUTPUTS, SHELL, coder, container_of, logs, settings
from tests.support.keys import issued
from tests.support.server import RunningServer, serve
from tests.support.waiting import until

CANARY = "canary-4711"


@asynccontextmanager
async def coding_server(store: Any, **chosen: Any) -> AsyncIterator[RunningServer]:
    model = ScriptedBackend(coder, models=["m"])
    async with serve(model, store=store, settings=settings(**chosen), has_tools=True) as one:
        one.requests = model.requests  # type: ignore[attr-defined]
        yield one


@pytest.fixture
async def server(store_url: str) -> AsyncIterator[RunningServer]:
    async with coding_server(store_url) as one:
        yield one


async def run(sdk: AsyncOpenAI, code: str, container: str = "", **more: Any) -> Any:
    tool = {**AUTO, "container": container} if container else AUTO
    return await sdk.responses.create(
        **{"model": "m", "input": code, "tools": [tool], "include": OUTPUTS, "timeout": 60, **more}
    )


def reported(server: RunningServer) -> str:
    """What the model read of the newest call."""
    return str(server.requests[-1]["messages"][-1]["content"])  # type: ignore[attr-defined]


async def test_code_prints_and_keeps_variables_and_files_from_turn_to_turn(
    server: RunningServer,
) -> None:
    first = await run(server.sdk, "x = 41\nopen('a.csv', 'w').write('1,2')\nprint('hi')\nx")
    second = await run(server.sdk, "x + 1, open('a.csv').read()", previous_response_id=first.id)

    assert logs(first) == ["hi\n", "41"]
    assert logs(second) == ["(42, '1,2')"]
    assert container_of(first) == container_of(second)


async def test_files_of_code_are_available_at_once_and_files_of_clients_in_the_next_call(
    server: RunningServer,
) -> None:
    first = await run(server.sdk, "open('a.csv', 'w').write('1,2')")
    container = container_of(first)
    files = server.sdk.containers.files
    (created,) = (await files.list(container)).data
    assert (created.path, created.source, created.bytes) == ("/mnt/data/a.csv", "assistant", 3)
    assert (await files.content.retrieve(created.id, container_id=container)).content == b"1,2"

    uploaded = await files.create(container, file=("b.csv", b"3,4"))
    await files.delete(created.id, container_id=container)
    second = await run(server.sdk, "import os; sorted(os.listdir())", container)

    assert logs(second) == [repr([uploaded.path.removeprefix("/mnt/data/")])]


async def test_files_of_the_tool_are_in_its_container(server: RunningServer) -> None:
    file = await server.sdk.files.create(file=("data.csv", b"1,2"), purpose="user_data")
    tool = {"type": "code_interpreter", "container": {"type": "auto", "file_ids": [file.id]}}

    response = await run(server.sdk, f"open('{file.id}-data.csv').read()", tools=[tool])

    assert logs(response) == ["'1,2'"]


async def test_a_container_moves_to_another_server_with_its_files(store_url: str) -> None:
    async with coding_server(store_url) as one, coding_server(store_url) as other:
        first = await run(one.sdk, "x = 1; open('a', 'w').write('from one')")
        container = container_of(first)
        second = await run(
            other.sdk, "'x' in globals(), open('a').read(), open('b', 'w').write('new')", container
        )
        moved = reported(other)
        third = await run(one.sdk, "'x' in globals(), open('b').read()", container)

        assert logs(second) == ["(False, 'from one', 3)"] and LOST_VARIABLES in moved
        assert logs(third) == ["(False, 'new')"] and LOST_VARIABLES in reported(one)
        assert LOST_VARIABLES not in str(one.requests[1]["messages"])  # type: ignore[attr-defined]


@pytest.mark.wide
async def test_calls_of_two_servers_in_one_container_run_one_after_the_other(
    store_url: str,
) -> None:
    code = (
        "import time\nbegan = time.time()\ntime.sleep(0.2)\nopen('log', 'a').write(f'{began} "
        "{time.time()}\\n')"
    )
    async with coding_server(store_url) as one, coding_server(store_url) as other:
        container = container_of(await run(one.sdk, "1"))
        await asyncio.gather(*(run(server.sdk, code, container) for server in (one, other) * 3))
        (text,) = logs(await run(other.sdk, "print(open('log').read())", container))

    times = [tuple(map(float, line.split())) for line in text.split("\n") if line]
    assert len(times) == 6
    assert all(end <= begin for (_, end), (begin, _) in pairwise(times))


@pytest.mark.wide
async def test_no_call_is_lost_or_mixed_up_among_many_in_several_containers(store_url: str) -> None:
    opened = await open_store(store_url)
    keys = [(await issued(opened, f"tenant{n}"))[0] for n in range(3)]
    async with coding_server(opened, code_kernels_per_tenant=3) as one:
        sdks = [one.sdk.with_options(api_key=key) for key in keys]
        containers = [
            (sdk, (await sdk.containers.create(name=f"c{n}")).id) for n in range(4) for sdk in sdks
        ]

        async def calls(sdk: AsyncOpenAI, container: str) -> list[str]:
            answers = []
            for number in range(5):
                code = (
                    f"open('log', 'a').write('{container} {number}\\n')\nprint(open('log').read())"
                )
                answers += logs(await run(sdk, code, container))[:1]
            return answers

        found = await asyncio.gather(*(calls(*each) for each in containers))

    for (_, container), answers in zip(containers, found, strict=True):
        lines = [f"{container} {number}\n" for number in range(5)]
        assert answers == ["".join(lines[: number + 1]) + "\n" for number in range(5)]


async def test_no_tenant_reaches_the_container_of_another(store_url: str) -> None:
    opened = await open_store(store_url)
    owner, stranger = [(await issued(opened, name))[0] for name in ("owner", "stranger")]
    async with coding_server(opened) as one:
        mine = one.sdk.with_options(api_key=stranger)
        theirs = one.sdk.with_options(api_key=owner)
        secret = await run(theirs, f"x = '{CANARY}'; open('secret.txt', 'w').write(x)")
        file = await theirs.files.create(file=("secret.csv", CANARY.encode()), purpose="user_data")
        container = container_of(secret)

        with pytest.raises(NotFoundError) as foreign:
            await run(mine, "x", container)
        with pytest.raises(NotFoundError) as unknown:
            await run(mine, "x", "cntr_" + "0" * 48)
        tool = {"type": "code_interpreter", "container": {"type": "auto", "file_ids": [file.id]}}
        with pytest.raises(NotFoundError):
            await run(mine, "x", tools=[tool])
        items = [
            {
                "type": "code_interpreter_call",
                "id": "ci_1",
                "container_id": container,
                "code": "x",
                "outputs": [],
            }
        ]
        poll = "import os\nprint(os.listdir('/mnt/data'), globals().get('x'))"
        seen = await run(mine, "", input=[*items, {"role": "user", "content": poll}])

    assert foreign.value.message == unknown.value.message
    assert container_of(seen) != container
    assert logs(seen) == ["[] None\n"]
    assert CANARY not in seen.to_json()


async def test_nothing_of_the_server_is_in_a_machine(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTIPHON_BACKEND_KEY", CANARY)
    response = await run(
        server.sdk,
        "import os, glob\n"
        "print(dict(os.environ))\n"
        "for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):\n"
        "    print(open(path, errors='replace').read())\n"
        "print(os.path.exists('/etc/passwd'), os.path.exists(os.path.expanduser('~/.ssh')), "
        "os.listdir('/'))\n",
    )

    (text,) = logs(response)
    assert CANARY not in text and "antiphon" not in text.lower()


async def test_a_call_over_its_time_fails_and_keeps_files(store_url: str) -> None:
    async with coding_server(store_url, code_timeout=1.0) as one:
        first = await run(
            one.sdk, "x = 1; open('a', 'w').write('kept')\nprint('so far')\nwhile True: pass"
        )
        call = first.output[0]
        assert (call.status, logs(first)) == ("failed", ["so far\n"])
        assert "time limit of 1 seconds" in reported(one)

        second = await run(
            one.sdk, "'x' in globals(), open('a').read()", previous_response_id=first.id
        )

        assert logs(second) == ["(False, 'kept')"] and container_of(second) == container_of(first)


async def test_a_deleted_container_ends_its_call(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.tools.code.holds.RENEW_EVERY", 0.1)
    container = (await server.sdk.containers.create(name="mine")).id
    running = asyncio.create_task(
        run(server.sdk, "open('a', 'w').write('1')\nimport time; time.sleep(100)", container)
    )
    await until(
        lambda: (
            server.parts.shared.usage().get("code_calls")
            and server.parts.shared.usage()["code_calls"].in_use
        )
    )
    await server.sdk.containers.delete(container)

    response = await running

    assert response.output[0].status == "failed"
    assert "deleted" in reported(server)


async def test_a_deleted_container_by_id_is_refused_and_auto_makes_a_new_one(
    store_url: str,
) -> None:
    opened = await open_store(store_url)
    async with coding_server(opened) as one:
        first = await run(one.sdk, "1")
        await one.sdk.containers.delete(container_of(first))

        with pytest.raises(NotFoundError, match="Container not found"):
            await run(one.sdk, "1", container_of(first))
        second = await run(one.sdk, "2", previous_response_id=first.id)

        assert logs(second) == ["2"] and container_of(second) != container_of(first)


async def test_files_beyond_what_a_tenant_may_store_are_left_out_by_name(store_url: str) -> None:
    async with coding_server(store_url, max_stored_bytes=300_000) as one:
        response = await run(
            one.sdk, "open('a', 'wb').write(b'1' * 1_000_000); open('b', 'w').write('2')"
        )

        paths = [file.path async for file in one.sdk.containers.files.list(container_of(response))]
        assert paths == ["/mnt/data/b"] and response.output[0].status == "completed"
        assert "The file a was not kept" in reported(one)


async def test_commands_and_code_share_a_container(server: RunningServer) -> None:
    first = await run(server.sdk, "echo hi > a.txt && cat a.txt && exit 3", tools=[SHELL])
    output = next(item for item in first.output if item.type == "shell_call_output").to_dict()[
        "output"
    ]
    second = await run(server.sdk, "open('a.txt').read()", previous_response_id=first.id)

    assert [(one["stdout"], one["outcome"]["exit_code"]) for one in output] == [
        ("", 0),
        ("hi\n", 0),
        ("", 3),
    ]
    assert logs(second) == ["'hi\\n'"]


@pytest.mark.parametrize(
    ("container", "param"),
    [
        ({"type": "auto", "memory_limit": "64g"}, "tools[0].container.memory_limit"),
        (
            {"type": "auto", "network_policy": {"type": "allowlist", "allowed_domains": ["a"]}},
            "network_policy.type",
        ),
        (
            {"type": "auto", "skills": [{"type": "skill_reference", "skill_id": "s"}]},
            "tools[0].container.skills",
        ),
    ],
)
async def test_what_no_container_here_has_is_refused(
    server: RunningServer, container: Any, param: str
) -> None:
    with pytest.raises(BadRequestError) as refused:
        await run(server.sdk, "1", tools=[{"type": "code_interpreter", "container": container}])

    assert str(refused.value.param).endswith(param)
