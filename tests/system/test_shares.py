"""Where the CPU time of a request goes, as `python -m bench.trace --shares` samples it."""

import subprocess
import sys
from pathlib import Path

from bench.trace.shares import PARTS


def test_the_parts_of_a_long_request_are_sampled() -> None:
    command = [sys.executable, "-m", "bench.trace", "--shares", "long, plain"]
    sampled = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=110
    )
    assert sampled.returncode == 0, sampled.stderr
    shares = {
        part: int(line.split()[-1].rstrip("%"))
        for line in sampled.stdout.splitlines()
        for part in PARTS.values()
        if line.startswith(part)
    }
    read = PARTS["antiphon.protocol"]
    translated = PARTS["antiphon.translation.to_chat_completions"]
    assert shares[read] + shares[translated] > 30
    assert 90 <= sum(shares.values()) <= 105
