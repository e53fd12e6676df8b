"""ZIP archives with limits: Office documents are archives of XML."""

import io
import zipfile
import zlib
from collections.abc import Iterator

from antiphon.documents.extraction.problem import Problem, damaged, protected

MOST_ENTRIES = 5_000
MOST_RATIO = 200
"""Unpacked bytes for each packed byte; a document's XML has 5 to 50."""
SMALL = 1024 * 1024
"""Unpacked bytes up to which the ratio is not checked."""
MOST_BYTES = 200 * 1024 * 1024
"""Unpacked bytes of all entries together."""
CHUNK = 64 * 1024

_END = b"PK\x05\x06"
_END_SIZE = 22
_LONGEST_COMMENT = 65_535

BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""The exceptions of `zipfile` for archives that are damaged, or compressed in an unknown way."""


def opened(content: bytes) -> zipfile.ZipFile:
    """Return an archive with sizes within the limits. Raises `Problem`."""
    _check_count(_counted(content))
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except BROKEN as error:
        raise damaged("ZIP archive") from error
    entries = archive.infolist()
    _check_count(len(entries))
    total = 0
    for entry in entries:
        total += entry.file_size
        if entry.flag_bits & 1:
            raise protected("document")
        if entry.file_size > SMALL and entry.file_size > MOST_RATIO * max(1, entry.compress_size):
            raise Problem(
                f"The file unpacks to more than {MOST_RATIO} times its size, which is not accepted."
            )
    if total > MOST_BYTES:
        raise Problem(
            f"The file unpacks to more than {MOST_BYTES // 1024 // 1024} MB, which is not accepted."
        )
    return archive


def _counted(content: bytes) -> int:
    """Return how many entries the end of the archive declares, so that a list of a million is not
    even read.
    """
    place = content.rfind(_END, -_END_SIZE - _LONGEST_COMMENT)
    return int.from_bytes(content[place + 10 : place + 12], "little") if place >= 0 else 0


def _check_count(entries: int) -> None:
    if entries > MOST_ENTRIES:
        raise Problem(
            f"The file is an archive of more than {MOST_ENTRIES:,} files, which is not accepted."
        )


def parts(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """Return the bytes of an entry, in parts; empty if the archive does not have it.

    Raises `Problem`.

    `zipfile` never returns more bytes than the entry announced.
    """
    try:
        with archive.open(name) as entry:
            while part := entry.read(CHUNK):
                yield part
    except KeyError:
        return
    except BROKEN as error:
        raise damaged("document") from error


def read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return the first `most` bytes of an entry. Raises `Problem`."""
    found = b""
    for part in parts(archive, name):
        found += part
        if len(found) >= most:
            break
    return found[:most]
