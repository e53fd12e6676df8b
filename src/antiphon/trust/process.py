"""Processes that run next to a check."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path


@asynccontextmanager
async def running(
    *arguments: str, folder: Path | str, announces: bool = True, **variables: str
) -> AsyncIterator[str]:
    """Run a module of Python inside the block; give the first line that it prints, if it
    `announces` anything.

    `variables` are added to its environment.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE if announces else asyncio.subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, **variables},
        start_new_session=True,
    )
    try:
        line = await process.stdout.readline() if process.stdout else b""
        yield line.decode().strip()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
