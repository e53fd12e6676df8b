"""Images and files inside a request, judged by what they say they are. Nothing is ever fetched."""

import binascii
import ipaddress
import re
from urllib.parse import urlsplit

from msgspec import UNSET

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputFile, InputImage
from antiphon.protocol.validation import refusals

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})

_UNSAFE_URL = re.compile(r"[\x00-\x20\x7f\\]")
_FILE_SOURCES = ("file_data", "file_url", "file_id")


def check_image(part: InputImage, path: str) -> None:
    """Raise `ClientError` unless the part has an image that can be sent on: a public URL or a base64 data URL.

    Codes: `invalid_image_url`, `unsupported_image_media_type`, `invalid_base64_image`, `empty_image_file`.
    """
    if part.file_id:
        raise refusals.not_served(f"{path}.file_id")
    path = f"{path}.image_url"
    if not part.image_url:
        raise refusals.missing(path)
    if part.image_url[:5].lower() == "data:":
        _check_image_data(part.image_url, path)
    elif not _is_public(part.image_url):
        words = "expected an http or https URL of a public host, or a data URL."
        raise refusals.invalid(path, words, "invalid_image_url")


def check_file(part: InputFile, path: str) -> None:
    """Raise `ClientError` unless the part has exactly one source: base64 `file_data`, or the URL of a public host.

    Whether a file by URL can be sent on is for the backend's dialect to say.
    """
    given = [name for name in _FILE_SOURCES if isinstance(getattr(part, name), str)]
    if not given:
        raise refusals.missing(f"{path}.file_data")
    if len(given) > 1:
        names = " or ".join(f"'{name}'" for name in given)
        raise ClientError(
            f"Mutually exclusive parameters: {refusals.listed(given)}. Ensure you are only providing one of: {names}.",
            code="mutually_exclusive_parameters",
            param=path,
        )
    if part.file_data is not UNSET and part.file_data is not None:
        _check_file_data(part.file_data, f"{path}.file_data")
    elif not isinstance(part.file_url, str):
        raise refusals.not_served(f"{path}.file_id")
    elif not _is_public(part.file_url):
        raise refusals.invalid(f"{path}.file_url", "expected an http or https URL of a public host.")


def split_data_url(url: str) -> tuple[str, str] | None:
    """Return the media type, in lower case and without parameters, and the base64 text; None where it is neither."""
    head, comma, data = url.partition(",")
    media_type, *parameters = head[5:].lower().split(";")
    return (media_type.strip(), data) if comma and "base64" in parameters else None


def _check_image_data(url: str, path: str) -> None:
    split = split_data_url(url)
    if split is None:
        raise refusals.invalid(path, "expected a data URL with base64-encoded data.", "invalid_base64_image")
    media_type, data = split
    if media_type not in IMAGE_TYPES:
        supported = refusals.listed(sorted(IMAGE_TYPES))
        words = f"unsupported image type '{refusals.shown(media_type)}'. Supported types are: {supported}."
        raise refusals.invalid(path, words, "unsupported_image_media_type")
    if not data:
        raise refusals.invalid(path, "the image is empty.", "empty_image_file")
    if not _is_base64(data):
        raise refusals.invalid(path, "the image is not valid base64.", "invalid_base64_image")


def _check_file_data(text: str, path: str) -> None:
    if text[:5].lower() == "data:":
        split = split_data_url(text)
        if split is None:
            raise refusals.invalid(path, "expected a data URL with base64-encoded data.")
        text = split[1]
    if not text:
        raise refusals.empty(path, "string")
    if not _is_base64(text):
        raise refusals.invalid(path, "expected base64-encoded data.")


def _is_base64(data: str) -> bool:
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return False
    return True


def _is_public(url: str) -> bool:
    """Tell whether the URL is http(s) to a host that a stranger may name.

    The backend may fetch it, from inside the operator's network: an address that is not public is refused however it
    is spelled. A number that is not a plain dotted quad (decimal, octal, hexadecimal) is an address in disguise.
    """
    if _UNSAFE_URL.search(url):
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
