"""What the pages show is what the tests run, and no link between pages leads nowhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IN_DOCS = (page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
PAGES = sorted([*ROOT.glob("*.md"), ROOT / "verify/README.md", *IN_DOCS])
EXAMPLES = [path for path in ROOT.glob("examples/**/*") if "node_modules" not in path.parts]

FENCE = re.compile(
    r"^(?P<marks>`{3,}|:{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=marks)\s*$",
    re.MULTILINE | re.DOTALL,
)
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?(?P<target>[^)\s>]+)")
HEADING = re.compile(r"^#{1,6} +(?P<title>.+?)\s*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")
NAMED_CODE = re.compile(r"`(?P<file>[\w/]+\.py)`: (?P<names>`[\w.]+`(?:, `[\w.]+`)*)")
SOURCE = ROOT / "src/antiphon"

per_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def fences(text: str) -> Iterator[tuple[str, str]]:
    """Each fenced block: what stands after its opening marks, and its lines."""
    yield from ((block["info"].strip(), block["body"]) for block in FENCE.finditer(text))


def typed_in(text: str) -> list[str]:
    """The Python of the page that is typed into it rather than included from a file."""
    return [
        body.strip()
        for info, body in fences(text)
        if info.split(" ")[0] in {"py", "python", "python3", "pycon"}
    ]


def included(text: str) -> list[str]:
    """The files that the page includes."""
    return [info.split()[1] for info, _ in fences(text) if info.startswith("{literalinclude}")]


def forms(code: str) -> set[str]:
    """A file as a page may show it: whole, or without its docstring."""
    statements = ast.parse(code).body
    if ast.get_docstring(ast.parse(code)) is None:
        return {code.strip()}
    return {code.strip(), "\n".join(code.splitlines()[statements[0].end_lineno :]).strip()}


def links(text: str) -> list[str]:
    """The targets of the page's links into this repository."""
    prose = INLINE_CODE.sub("", FENCE.sub("", text))
    return [link["target"] for link in LINK.finditer(prose) if not ELSEWHERE.match(link["target"])]


def anchors(text: str) -> set[str]:
    """The anchors of the page's headings, as GitHub and MyST both make them."""
    titles = (heading["title"] for heading in HEADING.finditer(FENCE.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(page: Path, text: str) -> list[str]:
    def is_dead(link: str) -> bool:
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.resolve().is_relative_to(ROOT) or not target.exists():
            return True
        return bool(anchor) and anchor not in anchors(
            text if target == page else target.read_text()
        )

    return [link for link in links(text) if is_dead(link)]


@per_page
def test_python_in_a_page_is_the_whole_of_a_file_that_is_run(page: Path) -> None:
    displayed = {
        form
        for example in EXAMPLES
        if example.suffix == ".py"
        for form in forms(example.read_text())
    }
    assert [block for block in typed_in(page.read_text()) if block not in displayed] == []


@per_page
def test_what_a_page_includes_is_an_example(page: Path) -> None:
    files = [(page.parent / name).resolve() for name in included(page.read_text())]
    known = [*EXAMPLES, *(ROOT / "deploy").rglob("*")]  # tests/system/deploy looks at those
    assert [
        file for file in files if page.is_relative_to(ROOT / "docs") and file not in known
    ] == []


@per_page
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page, page.read_text()) == []


@pytest.mark.parametrize(
    "link", ["nowhere.md", "README.md#no-such-heading", "#no-such-heading", "../outside.md"]
)
def test_a_dead_link_is_seen(link: str) -> None:
    assert dead_links(ROOT / "CHANGELOG.md", f"# Changelog\n\n[there]({link})\n") == [link]


def test_a_link_in_code_is_no_link() -> None:
    assert links(
        "`[a](b.md)` and\n```text\n[c](d.md)\n```\nand [e](f.md#g), [h](https://example.com)"
    ) == ["f.md#g"]


def test_typed_python_and_inclusions_are_distinguished() -> None:
    page = "```python\nprint(1)\n```\n```{literalinclude} ../examples/a.py\n```\n```sh\nls\n```\n"
    assert (typed_in(page), included(page)) == (["print(1)"], ["../examples/a.py"])


def test_a_file_can_be_included_without_its_docstring() -> None:
    assert forms('"""What it\nshows."""\n\nprint(1)\n') == {
        '"""What it\nshows."""\n\nprint(1)',
        "print(1)",
    }


def absent_code(text: str, source: Path = SOURCE) -> list[str]:
    """What the page names of a file, as `` `runs/run.py`: `Run._end` ``, and the file lacks."""
    absent = []
    for named in NAMED_CODE.finditer(text):
        path = source / named["file"]
        known = defined(path.read_text()) if path.exists() else set()
        names = re.findall(r"[\w.]+", named["names"].replace("`", " "))
        absent += [f"{named['file']}: {name}" for name in names if name not in known]
    return absent


def defined(code: str) -> set[str]:
    """The functions, classes and variables of a module, and methods: `_end` and `Run._end`."""
    names = set()
    for node in ast.parse(code).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        for target in targets:
            name = getattr(target, "id", getattr(target, "name", ""))
            methods = [part.name for part in getattr(target, "body", ()) if hasattr(part, "name")]
            names |= {name, *methods, *(f"{name}.{method}" for method in methods)}
    return names


@pytest.mark.parametrize("page", ["life-of-a-background-response", "life-of-a-file"])
def test_the_code_that_a_page_follows_exists(page: str) -> None:
    text = (ROOT / f"docs/why/{page}.md").read_text()
    assert NAMED_CODE.search(text)
    assert absent_code(text) == []


def test_code_that_does_not_exist_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("LIMIT = 1\n\n\nclass A:\n    def f(self): ...\n")
    text = "`a.py`: `A.f`, `LIMIT`; `a.py`: `A.g`, `B`; `b.py`: `f`"
    assert absent_code(text, tmp_path) == ["a.py: A.g", "a.py: B", "b.py: f"]
