"""Report phrases that read as translated: `make check`, `python scripts/plain_english.py [PATH …]`.

It reads what a person reads: the prose of Markdown pages, comments and strings of Python,
TypeScript and shell. Code in backticks and fenced blocks is left alone. `--count` prints a number
for each pattern instead of each place.
"""

import argparse
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PATTERNS = {
    r"who(m)?(so)?ever|nobody|somebody|anybody|everybody": "name the actor: client, request, "
    "tenant, operator, backend",
    r"(of|to|from|by|for|with) whom": "name the actor",
    r"whose": "two sentences, or 'with', or 'of the request'",
    r"told|tells?(?! (?:me|us)\b)|telling": "send, report, show, inform, detect, distinguish",
    r"asked": "called, requested, queried, sent to",
    r"lent|lends?": "shared, reserved, provided",
    r"hear|hears|heard": "receive, notice",
    r"outdo|outdoes|outdone": "override, take precedence",
    r"(that|which|who) (is|are|was|were) none": "invalid, or name what it is",
    r"there (is|are|was|were) none": "no X exists; without X",
    r"(is|are|was|were|be|been|has|have) gone": "deleted, disconnected, expired, unavailable",
    r"(come|comes|came|coming) back": "return, are returned, reconnect, recover",
    r"(go|goes|went|going) on(?!\.\")": "continue",
    r"(take|takes|took|taken|taking) up": "resume, start, use",
    r"(let|lets|letting) go": "release",
    r"(put|puts|putting) down": "store, record, write",
    r"(look|looks|looked|looking) after": "manage, monitor",
    r"(leave|leaves|left|leaving) out": "omit, drop, exclude",
    r"stands? (for|by) itself|stands? in (it|the|a)\b": "is in, contains, is independent",
    r"(is|are|was|were|be|been|being) given": "receive, return, pass, set",
    r"given back|given up|given again|gives? again": "returned, abandoned, repeated",
    r"anew": "again",
    r"for good": "permanently",
    r"but for": "except",
    r"be it": "whether",
    r"in (its|their|his) (place|stead)": "instead",
    r"wants an?": "needs, requires",
    r"by and by": "gradually",
    r"this once": "only once",
    r"thereof|therein|whereof|wherein|thereby|whereby": "name the thing",
    r"beside": "next to, in addition to, with",
    r"likewise": "also, in the same way",
    r"by itself": "automatically, alone",
    r"all the same": "still, nevertheless",
    r"signs? of life": "heartbeat, call",
    r"next to (no|nothing)": "almost no, almost nothing",
    r"(is|are) no (list|object|number|text|string|json|name|model|key|setting|url|id|integer)": "is not a …",  # noqa: E501 - one text, or a row of a table
}
MATCHERS = {pattern: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for pattern in PATTERNS}

EVERYWHERE = (
    "*.md",
    "src/*.py",
    "verify/src/*.py",
    "examples/*",
    "deploy/*",
    "console/src/*",
    "scripts/*",
    "Makefile",
    "*.toml",
)
NOT_OURS_TO_WORD = re.compile(
    r"^(docs/reference/report\.schema\.json|constraints|deploy/grafana\.json|scripts/plain_english\.py|console/package)"
)

CODE_FENCE = re.compile(
    r"^([ ]*)(`{3,})(?!\{(?!literalinclude|include|toctree|code-block|raw))[^\n]*\n.*?^\1\2[ ]*$",
    re.MULTILINE | re.DOTALL,
)
FENCE_MARKS = re.compile(r"^[ ]*(?:`{3,}|:{3,}).*$", re.MULTILINE)
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
SCRIPT_PROSE = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|>[^<>{}=;"
    r"()]+<",
    re.DOTALL,
)
"""Comments, strings and the text of elements in TypeScript."""

REPLACED = re.compile(r"\{[^{}]*\}")
"""The code in an f-string."""

BYTES = re.compile(r"r?b['\"]|br", re.IGNORECASE)

LINE_END = re.compile(r"[\s\"']+$")
LINE_START = re.compile(r"^[\s#*>/]*(?:[rf]{0,2}[\"'])?")
"""The marks of strings and comments between two lines of one sentence."""

LINK_TARGET = re.compile(r"\]\([^)]*\)")


def blanked(match: re.Match[str]) -> str:
    """Return as many lines as the match has, without its text, so that line numbers stay right."""
    return "\n" * match[0].count("\n")


def prose_of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """Each line of a page, without code and link targets."""
    text = LINK_TARGET.sub(
        "]", INLINE_CODE.sub(blanked, FENCE_MARKS.sub("", CODE_FENCE.sub(blanked, text)))
    )
    yield from enumerate(text.splitlines(), 1)


def prose_of_python(text: str) -> Iterator[tuple[int, str]]:
    """Each line of a comment or of a string of several words, without code in backticks and
    doctests.
    """
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and is_text(token.string)
        ):
            text = REPLACED.sub("", token.string) if is_formatted(token.string) else token.string
            lines = INLINE_CODE.sub(blanked, text).splitlines()
            yield from (
                (number, line)
                for number, line in enumerate(lines, token.start[0])
                if not line.lstrip().startswith((">>>", "..."))
            )
        elif token.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
            yield token.start[0], token.string


def prose_of_script(text: str) -> Iterator[tuple[int, str]]:
    """Each line of a comment, a string or an element's text in TypeScript."""
    for match in SCRIPT_PROSE.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        yield from enumerate(INLINE_CODE.sub(blanked, match[0]).splitlines(), first)


def is_formatted(literal: str) -> bool:
    """Whether a literal is an f-string, as one token: Python 3.12 and newer split it."""
    return "f" in literal[:2].lower()


def is_text(literal: str) -> bool:
    """Whether a literal is text for people: several words, and not bytes."""
    return " " in literal and BYTES.match(literal) is None


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that a person reads, each with its number."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return prose_of_markdown(text)
    if path.suffix == ".py":
        return prose_of_python(text)
    if path.suffix in {".ts", ".tsx", ".mjs"}:
        return prose_of_script(text)
    return iter(enumerate(INLINE_CODE.sub(blanked, text).splitlines(), 1))


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Each place with a pattern: its line, the words, and the pattern.

    A phrase can end on the next line.
    """
    lines: dict[int, str] = {}
    for number, line in prose_of(path):
        lines[number] = f"{lines[number]} | {line}" if number in lines else line
    for number, line in lines.items():
        rest = LINE_START.sub("", lines.get(number + 1, ""))
        text = LINE_END.sub("", line) if rest else line
        for pattern, matcher in MATCHERS.items():
            found = (
                match for match in matcher.finditer(f"{text} {rest}") if match.start() < len(text)
            )
            yield from ((number, match[0], pattern) for match in found)


def files(chosen: list[str]) -> list[Path]:
    """The tracked text files to read, in the order of git."""
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "--",
            *(chosen or EVERYWHERE),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    suffixes = {
        ".md",
        ".py",
        ".ts",
        ".tsx",
        ".mjs",
        ".sh",
        ".yaml",
        ".toml",
        ".service",
        "",
        ".conf",
    }
    return [
        ROOT / name
        for name in listed
        if name
        and Path(name).suffix in suffixes
        and not NOT_OURS_TO_WORD.match(name)
        and (ROOT / name).is_file()
    ]


def main() -> int:
    """Print what was found, and return 1 if anything was."""
    parser = argparse.ArgumentParser(description="Report phrases that read as translated.")
    parser.add_argument(
        "paths", nargs="*", help="files or folders; everything that people read by default"
    )
    parser.add_argument("--count", action="store_true", help="print a number for each pattern")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for path in files(options.paths):
        for number, words, pattern in findings(path):
            counts[pattern] += 1
            if not options.count:
                print(f"{path.relative_to(ROOT)}:{number}: '{words}'; better: {PATTERNS[pattern]}")
    if options.count:
        print("\n".join(f"{counts[pattern]:6} {pattern}" for pattern in PATTERNS))
    if counts:
        print(f"{sum(counts.values())} places do not follow the language rules.", file=sys.stderr)
    return bool(counts)


if __name__ == "__main__":
    sys.exit(main())
