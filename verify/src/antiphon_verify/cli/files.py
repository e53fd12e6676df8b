"""Files that the command reads and writes."""

from pathlib import Path
from typing import Literal

from antiphon_verify.errors import VerifyError


def read_file(path: Path) -> bytes:
    """Return the content of a file. Raises `VerifyError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise VerifyError(f"{path} cannot be read: {error.strerror}.") from error


def write_file(path: Path, data: bytes, mode: Literal["wb", "ab"] = "wb") -> None:
    """Write a file, or with the mode `ab` append to it. Raises `VerifyError`."""
    try:
        with path.open(mode) as file:
            file.write(data)
    except OSError as error:
        raise VerifyError(f"{path} cannot be written: {error.strerror}.") from error
