"""Keeps freed memory in the process for the next large request (glibc).

By default, glibc returns large blocks to Linux when they are freed, and the free end of the heap.
The next large request receives the same pages again, each with a page fault and 4 KB of zeros: for
an image of 5 MB, 3,000 of them take a third of the CPU time.
"""

RETAINED = 128 * 1024 * 1024
"""Bytes at the end of the heap that stay when they are free."""

LARGEST = 32 * 1024 * 1024
"""Bytes of the largest block on the heap; glibc accepts no more."""

OPTIONS = {-1: RETAINED, -3: LARGEST, -8: 1}
"""`M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD`, and `M_ARENA_MAX`: threads that start later share the
heap.
"""


def retain_freed_memory() -> None:
    """Set this for the process. Does nothing with another C library."""
    try:
        import ctypes  # noqa: PLC0415 - some builds of Python do not have it

        mallopt = ctypes.CDLL(None).mallopt
    except (ImportError, AttributeError, OSError, TypeError):
        return
    for option, value in OPTIONS.items():
        mallopt(option, value)
