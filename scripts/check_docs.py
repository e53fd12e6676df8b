"""Check the documentation: spelling, alt texts, links and anchors. `make docs` runs it after the
build.

It reads the pages as Markdown for spelling and alt texts, so that a problem has the file and line
to correct, and the built HTML for links, anchors, and anything that a page would load from another
host.

Spelling is British. A word is correct if it is in the dictionary of pyspellchecker or in
`docs/spelling.txt`, unless the tables of codespell have it as American or as a frequent
misspelling.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from functools import cache
from html import unescape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
WORDS = ROOT / "docs" / "spelling.txt"

FENCE = re.compile(
    r"^(?P<indent> *)(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)\n.*?^(?P=indent)(?P=marks)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
PROSE = (
    "note",
    "tip",
    "hint",
    "important",
    "warning",
    "caution",
    "danger",
    "admonition",
    "tab-item",
    "grid-item-card",
)
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\([^)]*\)")
NO_PROSE = (
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL),
    re.compile(r"\{[\w:-]+\}"),
    re.compile(r"(?<=\])\([^)\n]*\)"),
    re.compile(r"^:[\w-]+:.*$", re.MULTILINE),
    re.compile(r"<[^>\n]+>"),
    re.compile(r"\b[a-z]+://\S+|\b[\w.-]+@[\w.-]+|(?<!\w)[./~]?[\w.-]*/[\w./-]+"),
    re.compile(r"\b\w+\.(?:md|py|ts|toml|json|yaml|sh|db|sql|svg|html|txt)\b"),
)
WORD = re.compile(r"(?<![\w@#$-])[A-Za-z]+(?:['\u2019][a-z]+)?(?![\w@])")
TAG = re.compile(
    r"<(?P<name>a|img|link|script|source|iframe|object)\b(?P<attributes>[^>]*)>", re.IGNORECASE
)
SCRIPT = re.compile(r"(<script\b[^>]*>).*?</script>", re.DOTALL)
ATTRIBUTE = re.compile(r"\b(href|src|srcset|data|rel|alt)\s*=\s*\"([^\"]*)\"")
ANCHOR = re.compile(r"\b(?:id|name)=\"([^\"]+)\"")


def pages() -> list[Path]:
    """Return the Markdown that people read."""
    in_docs = (each for each in (ROOT / "docs").rglob("*.md") if "_build" not in each.parts)
    return sorted([*ROOT.glob("*.md"), ROOT / "verify/README.md", *in_docs])


def blank(text: str) -> str:
    """Return a text of spaces with the same lines."""
    return re.sub(r"[^\n]", " ", text)


def prose(text: str) -> str:
    """Return the prose of a page, each word at its place; code, targets and addresses are blank."""
    text = FENCE.sub(
        lambda block: boxed(block) if directive(block["info"]) in PROSE else blank(block[0]), text
    )
    for pattern in NO_PROSE:
        text = pattern.sub(lambda found: blank(found[0]), text)
    return text


def directive(info: str) -> str:
    """Return the name of a directive that opens a block."""
    return (re.match(r"\s*\{([\w-]+)\}", info) or ["", ""])[1]


def boxed(block: re.Match[str]) -> str:
    """Return a directive with prose in it, without its fences."""
    lines = block[0].split("\n")
    return "\n".join(
        [
            re.sub(r"\S*\{[\w-]+\}", lambda found: blank(found[0]), lines[0]),
            *lines[1:-1],
            blank(lines[-1]),
        ]
    )


@cache
def ours() -> frozenset[str]:
    """Return the words of docs/spelling.txt in lower case."""
    lines = (line.partition("#")[0].strip().lower() for line in WORDS.read_text().splitlines())
    return frozenset(line for line in lines if line)


@cache
def known() -> frozenset[str]:
    """Return all correct words in lower case."""
    dictionary = import_module("spellchecker").SpellChecker(language="en").word_frequency
    return frozenset(dictionary.words()) | ours() | frozenset(american().values())


def table(name: str) -> dict[str, str]:
    """Return a table of codespell: the wrong words with the right ones."""
    spec = find_spec("codespell_lib")
    assert spec is not None and spec.origin is not None
    lines = (Path(spec.origin).parent / "data" / name).read_text().splitlines()
    pairs = (line.strip().split("->") for line in lines if "->" in line)
    return {wrong.lower(): right.strip(" ,") for wrong, right in pairs}


@cache
def american() -> dict[str, str]:
    """Return American spellings with the British ones."""
    return {us.split(",")[0]: gb for gb, us in table("dictionary_en-GB_to_en-US.txt").items()}


@cache
def misspellings() -> dict[str, str]:
    """Return frequent misspellings with what was meant."""
    return table("dictionary.txt")


def wrong(word: str) -> str | None:
    """Return what is wrong with a word; None if it is known."""
    stem = word.lower().removesuffix("'s").removesuffix("n't").split("'")[0]
    if stem in ours() or word.lower() in ours():
        return None
    if stem in american():
        return f"'{word}' is American spelling: '{american()[stem]}'"
    if stem in misspellings():
        return f"'{word}' is misspelt: '{misspellings()[stem]}'"
    if stem in known() or word.lower() in known():
        return None
    return f"'{word}' is in no dictionary: correct it, or add it to docs/spelling.txt"


def misspelt(text: str) -> Iterator[tuple[int, str]]:
    """Return the line and the message of each word that is wrong."""
    for number, line in enumerate(prose(text).splitlines(), 1):
        for found in WORD.finditer(line):
            word = found[0].replace("\u2019", "'")
            if re.search(r"[a-z][A-Z]|[A-Z]{2}", word) or len(word) < 3:
                continue
            if message := wrong(word):
                yield number, message


def without_alt(text: str) -> Iterator[tuple[int, str]]:
    """Return the line of each image that says nothing to readers who do not see it."""
    text = FENCE.sub(lambda block: blank(block[0]), text)
    for found in IMAGE.finditer(text):
        if not found["alt"].strip():
            yield text.count("\n", 0, found.start()) + 1, "an image has no alt text"


def check_sources() -> Iterator[str]:
    """Return what is wrong in the Markdown, as `file:line: message`."""
    for page in pages():
        text = page.read_text()
        for line, message in sorted([*misspelt(text), *without_alt(text)]):
            yield f"{page.relative_to(ROOT)}:{line}: {message}"


def check_html(built: Path) -> Iterator[str]:
    """Return dead links and anchors, images without alt text, and what is loaded from other
    hosts.
    """
    texts = {path: path.read_text() for path in sorted(built.rglob("*.html"))}
    anchors = {
        path: {unescape(name) for name in ANCHOR.findall(text)} for path, text in texts.items()
    }
    for path, text in texts.items():
        for tag in TAG.finditer(
            re.sub(
                r"<script\b[^>]*>.*?</script>",
                lambda found: found[0].split(">")[0] + ">",
                text,
                flags=re.DOTALL,
            )
        ):
            attributes = {
                name: unescape(value) for name, value in ATTRIBUTE.findall(tag["attributes"])
            }
            where = f"{path.relative_to(built)}"
            if tag["name"].lower() == "img" and not attributes.get("alt", "").strip():
                yield f"{where}: an image has no alt text: {attributes.get('src')}"
            for target in (attributes.get(name) for name in ("href", "src", "srcset", "data")):
                if target is not None and (
                    problem := dead(path, target, attributes, tag["name"].lower(), anchors)
                ):
                    yield f"{where}: {problem}"


def dead(
    path: Path, target: str, attributes: dict[str, str], tag: str, anchors: dict[Path, set[str]]
) -> str | None:
    """Return what is wrong with a link or with what a page loads; None if it is sound."""
    parts = urlsplit(target)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        return None if tag == "a" else f"it loads {target} from another host"
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not file.exists() or file.is_dir():
        return f"a link leads nowhere: {target}"
    if (
        parts.fragment
        and file in anchors
        and unquote(parts.fragment) not in anchors[file] | {"top"}
    ):
        return f"a link leads to no such place: {target}"
    return None


def main() -> int:
    """Check everything; print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument(
        "html",
        type=Path,
        nargs="?",
        help="the built pages; without it, only the Markdown is checked",
    )
    built = parser.parse_args().html
    problems = [*check_sources(), *(check_html(built.resolve()) if built else [])]
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problem{'' if len(problems) == 1 else 's'} in the documentation")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
