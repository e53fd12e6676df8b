"""Images and files inside a request, checked by their declared types. Nothing is fetched."""

import binascii
import ipaddress
import re
import string
from collections.abc import Iterator
from urllib.parse import urlsplit

from msgspec import UNSET

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputFile, InputImage
from antiphon.protocol.validation import refusals

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})

SLICE = 256 * 1024
"""Characters of base64 that are decoded at once, a multiple of 4."""

_ALPHABET = f"{string.ascii_letters}{string.digits}+/".encode()

LONGEST_HEAD = 64 * 1024
"""Characters of a data URL before its data."""

LONGEST_URL = 64 * 1024
"""Characters of a URL that is fetched: no server accepts a longer one."""

_UNSAFE_URL = re.compile(r"[\x00-\x20\x7f\\]")
_FILE_SOURCES = ("file_data", "file_url", "file_id")


def check_image(part: InputImage, path: str) -> None:
    """Raise `ClientError` unless the part has an image that can be forwarded: a public URL or a
    base64 data URL.

    Codes: `invalid_image_url`, `unsupported_image_media_type`, `invalid_base64_image`,
    `empty_image_file`.
    """
    if part.file_id:
        raise refusals.unsupported(f"{path}.file_id")
    path = f"{path}.image_url"
    if not part.image_url:
        raise refusals.missing(path)
    if part.image_url[:5].lower() == "data:":
        _check_image_data(part.image_url, path)
    elif not _is_public(part.image_url):
        words = "expected an http or https URL of a public host, or a data URL."
        raise refusals.invalid(path, words, "invalid_image_url")


def check_file(part: InputFile, path: str) -> None:
    """Raise `ClientError` unless the part has exactly one source: base64 `file_data`, a public URL,
    or a `file_id`.

    Whether the file exists and is readable is only known later.
    """
    provided = [name for name in _FILE_SOURCES if isinstance(getattr(part, name), str)]
    if not provided:
        raise refusals.missing(f"{path}.file_data")
    if len(provided) > 1:
        names = " or ".join(f"'{name}'" for name in provided)
        raise ClientError(
            f"Mutually exclusive parameters: {refusals.listed(provided)}. "
            f"Ensure you are only providing one of: {names}.",
            code="mutually_exclusive_parameters",
            param=path,
        )
    if part.file_data is not UNSET and part.file_data is not None:
        _check_file_data(part.file_data, f"{path}.file_data")
    elif part.file_id == "":
        raise refusals.empty(f"{path}.file_id", "string")
    elif isinstance(part.file_url, str) and not _is_public(part.file_url):
        raise refusals.invalid(
            f"{path}.file_url", "expected an http or https URL of a public host."
        )


def split_data_url(url: str) -> tuple[str, str] | None:
    """Return the media type, in lower case and without parameters, and the base64 text; None if it
    is not a data URL.
    """
    head, comma, data = url.partition(",")
    media_type, *parameters = head[5:].lower().split(";")
    return (media_type.strip(), data) if comma and "base64" in parameters else None


def _check_image_data(url: str, path: str) -> None:
    media_type, begin = data_of(url)
    if media_type is None:
        raise refusals.invalid(
            path, "expected a data URL with base64-encoded data.", "invalid_base64_image"
        )
    if media_type not in IMAGE_TYPES:
        supported = refusals.listed(sorted(IMAGE_TYPES))
        words = (
            f"unsupported image type '{refusals.quoted(media_type)}'. "
            f"Supported types are: {supported}."
        )
        raise refusals.invalid(path, words, "unsupported_image_media_type")
    if begin == len(url):
        raise refusals.invalid(path, "the image is empty.", "empty_image_file")
    if not _is_base64(url, begin):
        raise refusals.invalid(path, "the image is not valid base64.", "invalid_base64_image")


def _check_file_data(text: str, path: str) -> None:
    begin = 0
    if text[:5].lower() == "data:":
        media_type, begin = data_of(text)
        if media_type is None:
            raise refusals.invalid(path, "expected a data URL with base64-encoded data.")
    if begin == len(text):
        raise refusals.empty(path, "string")
    if not _is_base64(text, begin):
        raise refusals.invalid(path, "expected base64-encoded data.")


def data_of(url: str) -> tuple[str | None, int]:
    """Return what `split_data_url` returns, but with the position of the text: copying a large one
    takes a while.
    """
    begin = url.find(",", 0, LONGEST_HEAD) + 1
    split = split_data_url(url[:begin])
    return (None, 0) if split is None else (split[0], begin)


def base64_of(text: str, begin: int) -> Iterator[bytes]:
    """Return the bytes of base64 from there on, in slices, so that other threads run in between.

    Raises `ValueError` if it is not base64.
    """
    last = begin
    while last + SLICE < len(text):
        piece = text[last : last + SLICE]
        if "=" in piece:
            raise ValueError("The padding of base64 is not at its end.")
        yield binascii.a2b_base64(piece, strict_mode=True)
        last += SLICE
    yield binascii.a2b_base64(text[last:], strict_mode=True)


def _is_base64(text: str, begin: int) -> bool:
    """Return whether `base64_of` reads it.

    To search other characters takes half as long as to decode.
    """
    last = begin
    try:
        while last + SLICE < len(text):
            if text[last : last + SLICE].encode("ascii").translate(None, _ALPHABET):
                return False
            last += SLICE
        binascii.a2b_base64(text[last:], strict_mode=True)
    except ValueError:
        return False
    return True


def _is_public(url: str) -> bool:
    """Return whether the URL is http(s) to a host that a client may name.

    The backend can fetch it, from inside the operator's network: an address that is not public is
    rejected however it is spelled. A number that is not a plain dotted quad (decimal, octal,
    hexadecimal) is an address in disguise.
    """
    if len(url) > LONGEST_URL or _UNSAFE_URL.search(url):
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return False
    host = host.rstrip(".")
    if ":" not in host and not re.fullmatch(r"\d+|0x[0-9a-f]*", host.rpartition(".")[2]):
        return host != "localhost" and not host.endswith(".localhost")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_global
