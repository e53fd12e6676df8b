"""Which broken JSON has one meaning, and which is left to the model to write again."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.broken_json import LONGEST, continued, repaired
from antiphon.translation.json_guard import JsonGuard
from tests.support.chance import examples
from tests.support.extras import without


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"cmd": "echo "hi" there", "n": 1}', {"cmd": 'echo "hi" there', "n": 1}),
        ('{"code": "print("x")\nprint("y")"}', {"code": 'print("x")\nprint("y")'}),
        ("{'cmd': 'ls', 'all': True, 'n': None}", {"cmd": "ls", "all": True, "n": None}),
        ('{"re": "\\d+\\s"}', {"re": "\\d+\\s"}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": {"b": ["x", "y"', {"a": {"b": ["x", "y"]}}),
        ('{"a": 1}}', {"a": 1}),
        ('{a: 1, b: "x"}', {"a": 1, "b": "x"}),
        ('{"a": "x" "b": 2}', {"a": "x", "b": 2}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{\\"a\\": \\"b\\"}', {"a": "b"}),
        ('{"a": \\"b\\"}', {"a": "b"}),
        ('{"a": "", }', {"a": ""}),
    ],
)
def test_what_is_certain_is_repaired(text: str, value: Any) -> None:
    assert repaired(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "b',  # more of the string may be missing
        '{"code": "if (x) { }',
        '{"code": "d = {"k": "v"}"}',  # quotes where strings can begin and end
        '{"path": ",\n{", "text": "say "hi" }"}',  # the library reads one string
        '{"path": ",\\n{", "text": "a " b }"}',
        """{'text': ')1,[', 'n': ',}1\\', 'path': '{a]=(,'}""",
        '{"text": ""\n[[{,[,:"}", "path": "]}:"}',
        '{"n": ":: ",{ ",{}::,}: ",:"}',  # a name that nobody wrote
        '{"n": ":\\"}',  # the string has no end
        '{"a": "x"", "b": 1}',  # one quote too many, or a quote in the string
        '{"path": " "]",":""}',
        '{"path": "" ":]{],[}}":"[:],]"',
        '{"text": ".,"a::"b+"',  # a colon too many, or one in a string
        '{"a": [1, 2, "b": 3}',  # a bracket is missing, but not at the end
        '{"a": }',  # a value that nobody wrote
        '{"a": 1}{"b": 2}',  # two objects
        '{"a": 1 // why\n}',  # a comment would be lost
        '{"a": tru',
        '{"a": 0x1}',
        '{"t": """abc"""}',
        '{"p": "C:\\dir\\file"}',  # `\f` is an escape, too
        '{"a": "he said: "yes", and "no": fine"}',
        '{"a": 1.50,}',  # would be written otherwise
        '{"path": ",\n[", "text": "]",}',  # the library reads one string
        "{'path': ', [', 'text': ']',}",
        # one string with a raw line end, or two that were escaped twice
        '{"a": "\\",\n\\"b\\": \\""}',
        "path: src",
        "[1, 2",
        "",
        '{"a": 1,' + " " * LONGEST + "}",
    ],
)
def test_what_is_doubtful_is_not(text: str) -> None:
    assert repaired(text) is None


CODE = st.text(st.sampled_from(list("ab 1(){}[]:,.=+'\"\\\n")), min_size=1, max_size=30)
VALUES = st.dictionaries(st.sampled_from(["path", "text", "n"]), CODE, min_size=1)

Break = Callable[[dict[str, str]], str]

BREAKS: dict[str, Break] = {
    "raw line ends": lambda value: json.dumps(value).replace("\\n", "\n")[:-1] + ",}",
    "a superfluous bracket": lambda value: json.dumps(value) + "}",
    "a missing bracket": lambda value: json.dumps(value)[:-1],
    "missing commas": lambda value: (
        "{" + " ".join(json.dumps({name: one})[1:-1] for name, one in value.items()) + "}"
    ),
    "single quotes": repr,
    "unquoted names": lambda value: (
        "{" + ", ".join(f"{name}: {json.dumps(one)}" for name, one in value.items()) + "}"
    ),
    "a fence": lambda value: f"```json\n{json.dumps(value)}\n```",
    "unescaped quotes": lambda value: json.dumps(value).replace('\\"', '"')[:-1] + ",}",
    "unescaped quotes and no end": lambda value: json.dumps(value).replace('\\"', '"')[:-1],
    "unescaped quotes and raw line ends": lambda value: (
        json.dumps(value).replace('\\"', '"').replace("\\n", "\n") + "}"
    ),
    "an escape too many": lambda value: json.dumps(json.dumps(value))[1:-1],
}


ISSUE = {"path": ",\n{", "text": "}"}


@pytest.mark.parametrize(
    "value", [ISSUE, {"path": ",\n[", "text": "]"}, {"n": '", "', "text": '}"'}]
)
@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_strings_with_structure_in_them_stay_apart(broken: Break, value: dict[str, str]) -> None:
    assert repaired(broken(value)) in (None, value)


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
@examples(60)
@given(VALUES)
def test_a_repair_never_changes_what_was_written(
    broken: Callable[[dict[str, str]], str], value: dict[str, str]
) -> None:
    assert repaired(broken(value)) in (None, value)


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_a_break_that_leaves_every_quote_where_it_was_is_repaired(broken: Break) -> None:
    value = {"path": "a.py", "text": "b = [1]"}
    assert repaired(broken(value)) == value


@given(st.dictionaries(st.sampled_from(["path", "text"]), CODE, min_size=1))
def test_what_was_sent_is_continued_to_the_same_value(value: dict[str, str]) -> None:
    text = json.dumps(value)
    for end in range(len(text)):
        whole = continued(JsonGuard().feed(text[:end]), value)
        assert whole is not None
        assert json.loads(whole) == value


def test_what_was_sent_otherwise_is_not_continued() -> None:
    assert continued('{"a": "x", ', {"a": "y"}) is None
    assert continued('{"a": "x"}', {"a": "x", "b": 1}) is None
    assert continued('{"a": "\\u00e9', {"a": "é"}) is None


def test_a_text_that_the_library_cannot_read_is_left_to_the_model() -> None:
    assert repaired('{"```json\n{\ufffd\ufffdue": ```[,1,\n') is None


def test_without_the_library_what_is_broken_stays_broken() -> None:
    with without("correct"):
        assert repaired('{"a": 1') is None
    assert repaired('{"a": 1') == {"a": 1}
