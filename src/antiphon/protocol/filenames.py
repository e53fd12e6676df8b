"""The names of files that clients send: only data, which opens no file of the server."""

from unicodedata import category

LONGEST_NAME = 255
"""Maximum bytes of a filename, as in file systems."""

LONGEST_ENDING = 32
"""Maximum bytes of a filename's extension that is preserved when the name is truncated."""

_DIRECTIONS = frozenset(
    "\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""Characters that end a line or change the text direction, and could display `exe.txt` as
`txt.exe`.
"""


def clean_filename(name: str) -> str:
    """Return the last component of a name, without control characters, in at most 255 bytes; empty
    if nothing remains.

    A filename is only data: this server opens no file by it, but a client that saves the content
    may.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    stored = "".join(
        mark for mark in last if category(mark) not in ("Cc", "Cs") and mark not in _DIRECTIONS
    ).strip()
    if not stored.strip("."):
        return ""
    if len(stored.encode()) <= LONGEST_NAME:
        return stored
    stem, dot, ending = stored.rpartition(".")
    ending = f"{dot}{ending}" if stem and len(ending.encode()) < LONGEST_ENDING else ""
    room = LONGEST_NAME - len(ending.encode())
    return stored.removesuffix(ending).encode()[:room].decode("utf-8", "ignore") + ending
