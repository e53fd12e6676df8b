"""The library in a program of its own: openings that are cancelled, wrong loops, forks, and ends
without `close`.
"""

import asyncio
import sys
from pathlib import Path

from tests.support.command import PATIENCE, environment

CANCELLED = """
import asyncio, gc, pathlib, sys, threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from antiphon import AsyncAntiphon

def held():
    gc.collect()
    return len(list(pathlib.Path("/proc/self/fd").iterdir())), threading.active_count()

async def use():
    # The loop's own pool grows when it is busy, whoever uses it.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    await asyncio.to_thread(int)
    async with AsyncAntiphon(store=sys.argv[1]) as first:
        await first.responses.create(model="demo", input="Hi")
    before = held()
    client = AsyncAntiphon(store=sys.argv[1])
    for turns in range(28):
        task = asyncio.create_task(client.responses.create(model="demo", input="Hi"))
        for _ in range(turns % 7):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    answer = await client.responses.create(model="demo", input="Hi")
    await client.close()
    print(answer.status, [now - then for now, then in zip(held(), before, strict=True)])

asyncio.run(use())
"""

SHARED = """
import asyncio, sys, threading
from antiphon import AsyncAntiphon

client, barrier, outcomes = AsyncAntiphon(store=sys.argv[1]), threading.Barrier(4), []

async def use():
    try:
        await client.responses.create(model="demo", input="Hi")
        await client.close()
        return "used"
    except RuntimeError as error:
        return str(error)

def run():
    barrier.wait()
    outcomes.append(asyncio.run(use()))

threads = [threading.Thread(target=run) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
outcomes.append(asyncio.run(use()))
print(*sorted(outcomes), sep="\\n")
"""

RULE = (
    "This client was first used in another event loop. Each event loop, "
    "and so each thread, needs an object of its own: create it there, and close it there. "
    "`Antiphon`, the synchronous client, can be used in every thread."
)

FORKED = """
import os, sys
from antiphon import Antiphon

client = Antiphon(store=sys.argv[1])
client.responses.create(model="demo", input="Hi")
child = os.fork()
if not child:
    try:
        client.responses.create(model="demo", input="Hi")
    except RuntimeError as error:
        print(error)
    with Antiphon(store=sys.argv[1]) as own:
        print(own.responses.create(model="demo", input="Hi").status)
    sys.exit()
print(os.waitpid(child, 0)[1])
print(client.responses.create(model="demo", input="Hi").status)
"""

UNCLOSED = """
import sys
from antiphon import Antiphon

client = Antiphon(store=sys.argv[1])
stream = client.responses.create(model="demo", input="Hi", stream=True)
job = client.responses.create(model="demo", input="Hi", background=True, stream=True)
print(next(stream).type, next(job).type)
"""

UNCLOSED_TRANSPORT = """
import sys
import antiphon

client = antiphon.http_client(store=sys.argv[1])
body = {"model": "demo", "input": "Hi", "stream": True}
reply = client.send(client.build_request("POST", "http://antiphon/v1/responses", json=body), stream=True)
print(reply.status_code)
"""  # noqa: E501 - the lines of a text


async def output_of(program: str, folder: Path, store_url: str) -> tuple[str, str]:
    """What a program prints, and what it reports."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", program, store_url),
        cwd=folder,
        env=environment(folder),
        stdout=-1,
        stderr=-1,
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    return out.decode().strip(), err.decode().strip()


async def test_an_opening_that_is_cancelled_28_times_leaves_no_thread_and_no_descriptor(
    tmp_path: Path, store_url: str
) -> None:
    assert await output_of(CANCELLED, tmp_path, store_url) == ("completed [0, 0]", "")


async def test_threads_and_loops_that_share_one_object_read_the_rule(
    tmp_path: Path, store_url: str
) -> None:
    out, err = await output_of(SHARED, tmp_path, store_url)
    assert (out.splitlines(), err) == ([*[RULE] * 4, "used"], "")


async def test_a_forked_child_reads_that_it_needs_a_client_of_its_own(
    tmp_path: Path, store_url: str
) -> None:
    out, err = await output_of(FORKED, tmp_path, store_url)
    rule, *statuses = out.splitlines()
    assert rule.startswith("This client was used before")
    assert (statuses, err) == (["completed", "0", "completed"], "")


async def test_a_program_that_closes_nothing_ends_without_a_complaint(
    tmp_path: Path, store_url: str
) -> None:
    assert await output_of(UNCLOSED, tmp_path, store_url) == (
        "response.created response.created",
        "",
    )


async def test_a_program_that_leaves_a_transport_open_ends_too(
    tmp_path: Path, store_url: str
) -> None:
    assert await output_of(UNCLOSED_TRANSPORT, tmp_path, store_url) == ("200", "")
