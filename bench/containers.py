"""How quickly code runs in containers, and whether many calls at once lose or mix up anything. It
needs bubblewrap.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from statistics import median

from antiphon.build.code import FileContent
from antiphon.objects.files import Files
from antiphon.protocol.tools import CodeInterpreterTool
from antiphon.sandbox.bubblewrap import Bubblewrap
from antiphon.storage.blobs.rows import StoreBlobs
from antiphon.storage.blobs.turns import part_turns
from antiphon.storage.open import open_store
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.code.tool import CodeLimits, CodeTools
from bench.report import OURS, Reading

CONTAINERS, CALLS = 50, 20
"""Containers that are used at once, and the calls in each."""

COLD, WARM = 10, 100
"""New containers, and calls in one container, of which the median is taken."""

TOOL = CodeInterpreterTool(container={"type": "auto"})

STEP = """
log = [*globals().get("log", []), {number}]
with open("log", "a") as file:
    file.write("{container} {number}\\n")
print(log, open("log").read().split("\\n"))
"""


def reading(
    url: str, containers: int = CONTAINERS, calls: int = CALLS, warm: int = WARM
) -> Iterator[Reading]:
    """Give the figures of an empty store. Raises `RuntimeError` where no machine runs."""
    for name, value in asyncio.run(figures(url, containers, calls, warm)).items():
        yield name, OURS, value


async def figures(url: str, containers: int, calls: int, warm: int) -> dict[str, float]:
    """Return the figures by their names."""
    async with code_tools(url, containers) as tools:
        first = [await _timed(tools, f"cntr_first{n}", "1") for n in range(COLD)]
        more = [await _timed(tools, "cntr_first0", "1") for _ in range(warm)]
        began = time.perf_counter()
        right = await asyncio.gather(
            *(_right_answers(tools, f"cntr_{n}", calls) for n in range(containers))
        )
        took = time.perf_counter() - began
    count = containers * calls
    return {
        "first call of code in a new container, s": median(first),
        "next call of code in a container, ms": 1000 * median(more),
        f"{count:,} calls of code in {containers} containers: right answers": sum(right),
        f"{count:,} calls of code in {containers} containers, 1/s": count / took,
    }


@asynccontextmanager
async def code_tools(url: str, kernels: int) -> AsyncIterator[CodeTools]:
    """Give what runs code, with its containers in this store, of which so many keep running."""
    sandbox = Bubblewrap()
    if problem := await sandbox.probe():
        raise RuntimeError(f"code: {problem}")
    store = await open_store(url)
    content = FileContent(store, Files(store, StoreBlobs(store, part_turns())))
    tools = CodeTools(sandbox, store, content, "bench", CodeLimits(kernels_per_tenant=kernels))
    try:
        yield tools
    finally:
        await tools.close()
        await store.close()


async def _run(tools: CodeTools, container: str, code: str) -> ToolOutcome:
    return await tools.run(Use(TOOL, "code_interpreter", {"code": code}, container_id=container))


async def _timed(tools: CodeTools, container: str, code: str) -> float:
    began = time.perf_counter()
    if (await _run(tools, container, code)).is_failed:
        raise RuntimeError("a call of code failed")
    return time.perf_counter() - began


async def _right_answers(tools: CodeTools, container: str, calls: int) -> int:
    """Run calls one after the other; return how many saw exactly the variables and the file of
    those before.
    """
    right = 0
    for number in range(calls):
        result = await _run(tools, container, STEP.format(container=container, number=number))
        log = list(range(number + 1))
        lines = [f"{container} {one}" for one in log]
        right += result.fields["outputs"] == [{"type": "logs", "logs": f"{log} {[*lines, '']}\n"}]
    return right
