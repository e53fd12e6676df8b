"""`python -m tests.soak`: see the package."""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

import aiohttp

from tests.soak.growth import Sample, problems, slope
from tests.soak.load import Load

SAMPLES = 60
"""At least so many, and one each minute."""

START = 30.0
"""Seconds that the server has to be ready."""


def main() -> int:
    """Run the load; return 1 if the server grows, leaks, slows down or fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--rate", type=float, default=5.0, help="uses a second")
    parser.add_argument("--store", default="", help="URL; an SQLite file by default")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or f"sqlite:///{folder}/soak.db"
        return asyncio.run(soak(Path(folder), store, options.hours, options.rate, options.seed))


async def soak(folder: Path, store: str, hours: float, rate: float, seed: int) -> int:
    """Run one server on a store, under the load; print samples and what is wrong."""
    variables = {"ANTIPHON_LOG": "warning", "HOME": str(folder)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "antiphon", "serve", "--port", "0", "--store", store),
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
        env={**os.environ, **variables},
    )
    try:
        url = await asyncio.wait_for(_address(process), START)
        samples, failed = await _loaded(process.pid, url, hours, rate, seed)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
    wrong = [*problems(samples), *(f"{name} failed: {why}" for name, why in failed.items())]
    print(f"Memory: {slope(samples) / 1e6:+.2f} MB an hour over all samples. Seed {seed}.")
    print("\n".join(wrong) or "Nothing grows, and nothing failed.")
    return bool(wrong)


async def _address(process: asyncio.subprocess.Process) -> str:
    while process.stdout and (line := (await process.stdout.readline()).decode()):
        if "base URL " in line:
            return line.partition("base URL ")[2].partition(";")[0].strip()
    raise EOFError


async def _loaded(
    pid: int, url: str, hours: float, rate: float, seed: int
) -> tuple[list[Sample], dict[str, str]]:
    began = time.monotonic()
    every = min(60.0, hours * 3600 / SAMPLES)
    samples: list[Sample] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        load = Load(http, url, rate, seed)
        running = asyncio.create_task(load.run())
        while time.monotonic() - began < hours * 3600:
            await asyncio.sleep(every)
            latencies, load.latencies = sorted(load.latencies), []
            sample = _sample(pid, time.monotonic() - began, latencies)
            samples.append(sample)
            print(
                f"{sample.at / 60:6.1f} min  {sample.memory / 1e6:7.1f} MB  "
                f"{sample.descriptors} descriptors  {sample.threads} threads  "
                f"p99 {sample.p99 * 1000:5.0f} ms  {load.sent} requests",
                flush=True,
            )
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return samples, load.failed


def _sample(pid: int, at: float, latencies: list[float]) -> Sample:
    process = Path(f"/proc/{pid}")
    status = dict(
        line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line
    )
    return Sample(
        at=at,
        memory=int(status["VmRSS"].split()[0]) * 1024,
        descriptors=len(list((process / "fd").iterdir())),
        threads=int(status["Threads"]),
        p99=latencies[int(len(latencies) * 0.99)] if latencies else 0.0,
    )


if __name__ == "__main__":
    sys.exit(main())
