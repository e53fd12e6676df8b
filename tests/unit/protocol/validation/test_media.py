"""Images and files, judged without fetching anything."""

import base64
from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputFile, InputImage
from antiphon.protocol.validation import media
from antiphon.protocol.validation.media import SLICE, check_file, check_image, split_data_url

DATA = base64.b64encode(b"\x89PNG").decode()


def image_refusal(**fields: Any) -> tuple[str | None, str | None]:
    with pytest.raises(ClientError) as caught:
        check_image(InputImage(**fields), "p")
    return caught.value.code, caught.value.param


def file_refusal(**fields: Any) -> tuple[str | None, str | None]:
    with pytest.raises(ClientError) as caught:
        check_file(InputFile(**fields), "p")
    return caught.value.code, caught.value.param


TAKEN = [
    "https://example.com/cat.png",
    "HTTP://EXAMPLE.com:8080/cat.png?size=1#x",
    "https://93.184.216.34/cat.png",
    "https://[2606:2800:220:1:248:1893:25c8:1946]/cat.png",
    "https://xn--bcher-kva.example/cat",
    f"data:image/png;base64,{DATA}",
    f"DATA:IMAGE/JPEG;charset=utf-8;base64,{DATA}",
]


@pytest.mark.parametrize("url", TAKEN)
def test_a_public_url_or_a_data_url_is_an_image(url: str) -> None:
    check_image(InputImage(image_url=url), "p")


NOT_PUBLIC = [
    "file:///etc/passwd",
    "gopher://example.com/",
    "ftp://example.com/a.png",
    "javascript:alert(1)",
    "cat.png",
    "//example.com/cat.png",
    "https://",
    "http://169.254.169.254/latest/meta-data",
    "http://127.0.0.1/a.png",
    "http://127.1/a.png",
    "http://10.0.0.1/a.png",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "http://169.254.169.254./",
    "http://[::1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fe80::1%25eth0]/",
    "http://[::ffff:7f00:1",
    "http://localhost/a.png",
    "http://LocalHost./a.png",
    "http://app.localhost/a.png",
    "http://example.com@127.0.0.1/",
    "http://a@example.com/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com/a b",
    "http://example.com/\n",
]


@pytest.mark.parametrize("url", NOT_PUBLIC)
def test_a_url_that_is_not_public_is_no_image(url: str) -> None:
    assert image_refusal(image_url=url) == ("invalid_image_url", "p.image_url")


BAD_DATA = {
    "data:image/png;base64,": "empty_image_file",
    "data:image/png;base64,%%%": "invalid_base64_image",
    "data:image/png;base64,abc": "invalid_base64_image",
    "data:image/png;base64,é": "invalid_base64_image",
    f"data:image/png,{DATA}": "invalid_base64_image",
    "data:": "invalid_base64_image",
    f"data:image/svg+xml;base64,{DATA}": "unsupported_image_media_type",
    f"data:text/html;base64,{DATA}": "unsupported_image_media_type",
    f"data:;base64,{DATA}": "unsupported_image_media_type",
}


@pytest.mark.parametrize(("url", "code"), BAD_DATA.items())
def test_data_that_is_no_image_is_refused_by_what_is_wrong_with_it(url: str, code: str) -> None:
    assert image_refusal(image_url=url) == (code, "p.image_url")


@pytest.mark.parametrize("wrong", ["=", "%", "-", "é", "\n"])
@pytest.mark.parametrize("place", [0, SLICE - 1, SLICE, 2 * SLICE + 1])
def test_large_data_is_checked_everywhere(wrong: str, place: int) -> None:
    data = base64.b64encode(bytes(range(256)) * (SLICE // 128)).decode()
    broken = data[:place] + wrong + data[place + 1 :]

    assert image_refusal(image_url=f"data:image/png;base64,{broken}") == (
        "invalid_base64_image",
        "p.image_url",
    )
    check_image(InputImage(image_url=f"data:image/png;base64,{data}"), "p")


def test_an_image_needs_a_url_because_files_are_not_stored_here() -> None:
    assert image_refusal() == ("missing_required_parameter", "p.image_url")
    assert image_refusal(image_url=None) == ("missing_required_parameter", "p.image_url")
    assert image_refusal(file_id="file_1") == ("unsupported_parameter", "p.file_id")


@pytest.mark.parametrize(
    "fields",
    [
        {"file_data": DATA},
        {"file_data": f"data:application/pdf;base64,{DATA}", "filename": "a.pdf", "file_url": None},
        {"file_url": "https://example.com/a.pdf"},
        {"file_id": "file-1"},
    ],
)
def test_a_file_comes_as_base64_or_from_a_public_url_or_is_stored(fields: dict[str, str]) -> None:
    check_file(InputFile(**fields), "p")


FILES: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({}, ("missing_required_parameter", "p.file_data")),
    ({"filename": "a.txt"}, ("missing_required_parameter", "p.file_data")),
    ({"file_data": ""}, ("empty_string", "p.file_data")),
    ({"file_data": "data:text/plain;base64,"}, ("empty_string", "p.file_data")),
    ({"file_data": "not base64"}, ("invalid_value", "p.file_data")),
    ({"file_data": "data:text/plain,hello"}, ("invalid_value", "p.file_data")),
    ({"file_id": ""}, ("empty_string", "p.file_id")),
    ({"file_url": "file:///etc/passwd"}, ("invalid_value", "p.file_url")),
    ({"file_url": ""}, ("invalid_value", "p.file_url")),
    ({"file_data": DATA, "file_id": "file_1"}, ("mutually_exclusive_parameters", "p")),
]


@pytest.mark.parametrize(("fields", "expected"), FILES)
def test_a_file_without_one_usable_source_is_refused(
    fields: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert file_refusal(**fields) == expected


def test_a_data_url_splits_into_its_type_and_its_data() -> None:
    assert split_data_url("data:Text/Plain;charset=utf-8;base64,aGk=") == ("text/plain", "aGk=")
    assert split_data_url("data:text/plain,hi") is None


@pytest.mark.parametrize(
    ("data", "is_valid"),
    [
        ("AAAA" * 5, True),
        ("AAAA" * 4 + "AA==", True),
        ("AA==" + "AAAA" * 4, False),
        ("AAAA" * 2 + "A?AA" * 3, False),
    ],
)
def test_base64_is_judged_in_slices_as_in_one(
    data: str, is_valid: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "SLICE", 4)
    part = InputImage(image_url=f"data:image/png;base64,{data}")
    if is_valid:
        check_image(part, "p")
    else:
        with pytest.raises(ClientError, match="not valid base64"):
            check_image(part, "p")
