"""Web pages, and HTML files: title and text, links as Markdown."""

import codecs
import re
from html import unescape
from typing import Any

from html_to_markdown import (
    ConversionOptions,
    InvalidInputError,
    PreprocessingOptions,
    convert,
)

from antiphon.documents.extraction.plain import BYTE_ORDER_MARKS
from antiphon.documents.extraction.problem import Problem

DEEPEST = 200
"""Nesting depth of elements; deeper ones are omitted, as the library's run time grows with the
depth.
"""

_META = re.compile(
    rb"<meta[^>]{0,200}charset\s{0,5}=\s{0,5}[\"']?([a-zA-Z0-9_:-]{1,40})", re.IGNORECASE
)
_DECLARED = re.compile(
    rb"^<\?xml[^>]{0,200}encoding\s{0,5}=\s{0,5}[\"']([a-zA-Z0-9_:-]{1,40})", re.IGNORECASE
)
_TITLE = re.compile(r"<title(?:\s[^<>]{0,200})?>([^<]{0,1000})", re.IGNORECASE)
_LOCAL_LINK = re.compile(
    r"\]\(<?\s{0,9}(?:javascript|data|vbscript|blob|about|file):(?:[^()\n]|\([^()\n]{0,200}\)){0,"
    r"2000}\)",
    re.IGNORECASE,
)
_LINK_TITLE = re.compile(r"(\]\(<?[^()\s]+>?) \"[^\"\n]{0,500}\"\)")
_SIGN = re.compile(r"\s*(?:\\?\[[^\[\]]{0,8}\]|[§¶#↑^]?)\s*")
_EMPTY_LINK = re.compile(r"(?<!!)\[\s*\]\([^()\s]*\)")
_TEXT_CODECS = re.compile(
    r"ascii|utf-8(-sig)?|utf-16(-[lb]e)?|iso8859-\d+|cp(125\d|866|874|932|949|950)|koi8-[ru]|mac-roman|gbk|gb2312|gb18030"
    r"|big5(hkscs)?|euc_(jp|kr)|shift_jis(x0213)?|iso2022_jp"
)
"""The codecs of Python that pages use; others can take more than linear time."""
_AS_ON_THE_WEB = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
}


def read(body: bytes, *, url: str, charset: str, is_html: bool, longest: int) -> dict[str, Any]:
    """Return title and text of a page, links as Markdown with absolute URLs."""
    text = decoded(body, charset).replace("\0", "")
    title = title_of(text) if is_html else ""
    is_whole = True
    if is_html:
        text, is_whole = as_markdown(text, url)
    return {
        "title": title,
        "text": text[:longest].encode(errors="replace").decode(),
        "is_cut": len(text) > longest or not is_whole,
    }


def decoded(body: bytes, charset: str) -> str:
    """Return the text of a body: by its byte order mark, its declared charset, its own declaration,
    else as UTF-8.
    """
    for mark, codec in BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body.decode(codec, "replace")
    codec = _codec(charset) or declared(body)
    if codec:
        return body.decode(codec, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def title_of(html: str) -> str:
    """Return the title of a page, empty if it has none."""
    title = _TITLE.search(html[:200_000])
    return unescape(title[1]).strip() if title else ""


def declared(body: bytes) -> str:
    """Return the codec that a page declares itself, empty if it declares none."""
    declaration = _META.search(body[:4096]) or _DECLARED.search(body[:4096])
    return _codec(declaration[1].decode()) if declaration else ""


def _codec(name: str) -> str:
    try:
        found = codecs.lookup(name.strip()).name if name.strip() else ""
    except (LookupError, ValueError):
        return ""
    return _AS_ON_THE_WEB.get(found, found) if _TEXT_CODECS.fullmatch(found) else ""


def as_markdown(html: str, url: str, *, keeps_navigation: bool = False) -> tuple[str, bool]:
    """Return the text of a page without scripts, without navigation unless that is kept, and
    whether it is whole.

    Raises `Problem` for bytes that are not a text: the library counts control characters.
    """
    options = ConversionOptions(
        base_url=url,
        extract_metadata=False,
        skip_images=True,
        # Padded cells grow with the widest cell of their column.
        compact_tables=True,
        escape_misc=False,
        max_depth=DEEPEST,
        # Some servers put the whole page into one form.
        preprocessing=PreprocessingOptions(
            enabled=True, remove_navigation=not keeps_navigation, remove_forms=False
        ),
    )
    try:
        result = convert(html, options)
    except InvalidInputError as error:
        raise Problem("The page has too many control characters to be text.") from error
    text = result.content or ""
    text = _LINK_TITLE.sub(r"\1)", _LOCAL_LINK.sub("]", text))
    is_whole = not any("depth" in str(warning.kind) for warning in result.warnings)
    return _EMPTY_LINK.sub("", _without_own_links(text, url)), is_whole


def _without_own_links(text: str, url: str) -> str:
    """Return the text without internal links; a footnote's number is removed with its link, as it
    is not a source.
    """
    place = re.escape(url.partition("#")[0])
    own = rf"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(<?{place}#[^()\s]*>?\)"
    return re.sub(own, lambda link: "" if _SIGN.fullmatch(link[1]) else link[1], text)
