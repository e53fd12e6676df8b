"""Memory that was freed is used again, without page faults."""

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the setting is glibc's `mallopt`"
)

PROGRAM = """
import resource, sys
from antiphon.cli import heap

if sys.argv[1] == "no ctypes":
    sys.modules["ctypes"] = None
if sys.argv[1] != "released":
    heap.retain_freed_memory()

def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def fill():
    for _ in range(4):
        blocks = [b"x" * 1_000_000 for _ in range(20)]
        del blocks

fill()
before = pages()
fill()
print(pages() - before)
"""


def faults(way: str) -> int:
    """Return the page faults of a process that fills 20 MB again, four times."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, way], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_large_blocks_are_used_again() -> None:
    stored = faults("kept")
    released = faults("released")

    assert stored < released / 10


def test_a_python_without_ctypes_does_without() -> None:
    assert faults("no ctypes") > faults("released") / 2
