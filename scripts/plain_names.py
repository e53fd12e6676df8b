"""Report identifiers with words that are not the field's: `make check`, `python
scripts/plain_names.py [PATH …]`.

It reads the names that code defines. In Python these are functions, classes, parameters, variables,
fields, modules and tests; in the console functions, constants, types and files. `--count` prints a
number for each word instead.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

WORDS = {
    "anew": "again",
    "anybody": "name the actor: client, tenant, any",
    "ask": "request, call, query, probe",
    "asked": "requested, called, queried, probed",
    "asking": "requesting, pending",
    "asks": "requests, requires, queries",
    "beside": "alongside, next_to, in_thread, apart from",
    "everybody": "all, all_tenants",
    "gave": "returned",
    "given": "provided, passed, received, value",
    "gone": "deleted, removed, expired, unavailable, disconnected",
    "hear": "receive",
    "heard": "received, accepted",
    "hears": "receives",
    "held": "retained, reserved, locked, leased, buffered, withheld",
    "holding": "retaining, locking, leasing",
    "house": "application, deployment",
    "keep": "store, save, cache, retain",
    "kept": "stored, saved, cached, retained",
    "lend": "share, acquire",
    "lends": "shares",
    "lent": "shared, credentials",
    "look": "poll, read, check, inspect, lookup, resolve",
    "looked": "polled, read, checked, resolved",
    "looking": "polling, reading",
    "looks": "polls, reads",
    "made": "created, built, run, computed",
    "meant": "intended, suggested",
    "nobody": "name the actor: client, waiter, caller, no_one",
    "outdoes": "overrides",
    "said": "stated, text, content, message, reported",
    "say": "send, print, emit",
    "saying": "sending",
    "says": "states, reports, has",
    "served": "server, backend, supported, answered",
    "shown": "displayed, visible, rendered, returned, proven",
    "somebody": "name the actor: client, tenant",
    "tell": "report, notify, send",
    "telling": "reporting",
    "tells": "reports, distinguishes",
    "ticket": "identity",
    "told": "reported, sent, notified, received",
    "unsaid": "unstated",
    "who": "name the actor: caller, client, backend",
    "whoever": "name the actor",
    "whom": "recipient, caller",
    "whose": "owner, with",
}
"""The words, each with those that say it in the field's terms."""

SEQUENCES = {
    ("is", "none"): "is_invalid, is_ignored, is_absent",
    ("are", "none"): "are_invalid, are_ignored, are_absent",
}
"""Two words that are one phrase, with what says it better."""

NOT_IN_TESTS = {"keep"}
"""Words that are plain in a sentence: the name of a test is one."""

ALLOWED = {
    "ask:ask": "the command `antiphon ask`",
    "ask_files": "an example of the documentation",
    "connection_made": "a method of `asyncio.Protocol`",
    "json_held": "a setting of a model",
    "keep_alive": "a setting, and the term of HTTP and Ollama",
    "keep_old": "an option of `antiphon keys rotate`",
    "keep_old_for": "a field of the console's API",
    "keep_old_secret_active_for_24_hours": "a field of OpenAI's API",
    "purge_held": "a field of `/status`",
    "served_model": "a field that is stored, and a column of the console",
    "timeout_keep_alive": "a setting of uvicorn",
    "keep_file_text": "the name of an operation in metrics",
    "test_ask": "the command `antiphon ask`",
    "report:Shown": "a definition of the published schema of reports",
}
"""Names that stay, each with its reason: without underscores before them, in lower case unless it
is a class.

`file:name` is a name in the files of that name alone.
"""

ALLOWED_STARTS = {
    "test_ask_with_an_unknown_model": "the command `antiphon ask`",
}
"""Beginnings of names that stay."""

STAYING = re.compile(
    r"keeps?_(its|their|theirs|the|one|silent|busy|alive)\b|_keep_(its|their|theirs)"
)
"""`keep` where it does not mean to store."""

SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ANY = "|".join(WORDS)
SUSPECT = re.compile(
    rf"(?<![A-Za-z])(?:{_ANY})(?![a-z])|(?:{_ANY.title()})(?![a-z])|(?<![A-Za-z])(?:{_ANY.upper()})(?![A-Za-z])|_none"
)
"""Whether a text can have such a name at all: most files are not parsed."""

SCRIPT_NAMES = re.compile(
    r"\b(?:const|let|var|function|class|interface|type|enum)\s+(\{[^}=]*\}|\[[^\]=]*\]|[A-Za-z_$][\w$]*)"
)
"""The names that TypeScript and JavaScript declare, one or a pattern of several."""

SCRIPT_PROSE = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL
)
"""Comments and strings, which declare nothing."""

OTHERS_NAME = re.compile(r"[\w$]+\s*:")
"""In a pattern, the property that gets another name."""

FOLDERS = (
    "src",
    "verify",
    "tests",
    "bench",
    "mutation",
    "simulation",
    "scripts",
    "console",
    "conftest.py",
)


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Each name with such a word, once a file: its line, the name, and the word."""
    seen: set[str] = set()
    for line, name in sorted(names_of(path)):
        if name not in seen and f"{path.stem}:{name}" not in ALLOWED:
            seen.add(name)
            yield from ((line, name, word) for word in words_in(name))


def words_in(name: str) -> list[str]:
    """Return the words of a name that are not the field's, and the phrases, as `is none`."""
    bare = name.strip("_")
    if (
        bare in ALLOWED
        or bare.lower() in ALLOWED
        or any(bare.startswith(start) for start in ALLOWED_STARTS)
    ):
        return []
    words = [word.lower() for word in SPLIT.findall(name)]
    is_test = name.startswith("test_")
    found = [
        word
        for word in dict.fromkeys(words)
        if word in WORDS and not (is_test and word in NOT_IN_TESTS)
    ]
    if "keep" in found and STAYING.search(name):
        found.remove("keep")
    return found + [" ".join(pair) for pair in pairwise(words) if pair in SEQUENCES]


def better(word: str) -> str:
    """The words to use instead."""
    return WORDS.get(word) or SEQUENCES[tuple(word.split(" "))]  # type: ignore[index]


def names_of(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a file defines, with their lines; its own is on line 1."""
    yield 1, path.parent.name if path.stem in {"__init__", "__main__"} else path.stem.split(".")[0]
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        if SUSPECT.search(text):
            yield from names_of_python(ast.parse(text))
    else:
        yield from names_of_script(
            SCRIPT_PROSE.sub(lambda match: "\n" * match[0].count("\n"), text)
        )


def names_of_python(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The names that a module binds: definitions, parameters, variables, and attributes that it
    sets.
    """
    todo = [tree]
    while todo:
        node = todo.pop()
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.alias):
            if node.asname:
                yield node.lineno, node.asname
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.lineno, node.name


def names_of_script(text: str) -> Iterator[tuple[int, str]]:
    """The names that a file of TypeScript or JavaScript declares, without its comments and
    strings.
    """
    for match in SCRIPT_NAMES.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield from (
            (line, name) for name in re.findall(r"[A-Za-z_$][\w$]*", OTHERS_NAME.sub("", match[1]))
        )


def files(chosen: list[str]) -> list[Path]:
    """The tracked sources to read, in the order of git."""
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "--",
            *(chosen or FOLDERS),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    suffixes = {".py", ".ts", ".tsx", ".mjs", ".js"}
    return [
        ROOT / name for name in listed if Path(name).suffix in suffixes and (ROOT / name).is_file()
    ]


def main() -> int:
    """Print what was found, and return 1 if anything was."""
    parser = argparse.ArgumentParser(
        description="Report identifiers with words that are not the field's."
    )
    parser.add_argument("paths", nargs="*", help="files or folders; all code by default")
    parser.add_argument("--count", action="store_true", help="print a number for each word")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for path in files(options.paths):
        for line, name, word in findings(path):
            counts[word] += 1
            if not options.count:
                print(f"{path.relative_to(ROOT)}:{line}: {name}: '{word}' -> {better(word)}")
    if options.count:
        print("\n".join(f"{count:6} {word}" for word, count in counts.most_common()))
    if counts:
        print(f"{sum(counts.values())} names do not follow the language rules.", file=sys.stderr)
    return bool(counts)


if __name__ == "__main__":
    sys.exit(main())
