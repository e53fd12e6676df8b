"""`Responses` in a program of its own: a cancelled opening leaks nothing, and a wrong thread or loop is reported."""

import asyncio
import sys
from pathlib import Path

from tests.support.command import PATIENCE, environment

CANCELLED = """
import asyncio, gc, pathlib, sys, threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from antiphon import Responses

def held():
    gc.collect()
    return len(list(pathlib.Path("/proc/self/fd").iterdir())), threading.active_count()

async def use():
    # The loop's own pool grows when it is busy, whoever uses it.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    await asyncio.to_thread(int)
    async with Responses(store=sys.argv[1]) as first:
        await first.create(model="demo", input="Hi")
    before = held()
    client = Responses(store=sys.argv[1])
    for turns in range(28):
        task = asyncio.create_task(client.create(model="demo", input="Hi"))
        for _ in range(turns % 7):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    answer = await client.create(model="demo", input="Hi")
    await client.close()
    print(answer.status, [now - then for now, then in zip(held(), before, strict=True)])

asyncio.run(use())
"""

SHARED = """
import asyncio, sys, threading
from antiphon import Responses

client, barrier, outcomes = Responses(store=sys.argv[1]), threading.Barrier(4), []

async def use():
    try:
        await client.create(model="demo", input="Hi")
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
    "This Responses object was first used in another event loop. Each event loop, and so each thread, needs an object "
    "of its own: create it there, and close it there."
)


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


async def test_threads_and_loops_that_share_one_object_read_the_rule(tmp_path: Path, store_url: str) -> None:
    out, err = await output_of(SHARED, tmp_path, store_url)
    assert (out.splitlines(), err) == ([*[RULE] * 4, "used"], "")
