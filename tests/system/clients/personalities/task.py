"""The task: a repository with a test that fails, how to judge it, and the plan by which a model
works on it.

The plan has no memory. Each step follows from the last output in the prompt, so a call that is
lost, garbled or made under another name ends the work.
"""

import base64
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from enum import Enum, auto
from pathlib import Path
from typing import Any, NamedTuple

CUE = "Let children under five travel free."
PROMPT = f"{CUE} Read the repository, change fares.py, run its test, and correct what fails."
DONE = "The test passes."
LOST = "I do not know what to do."

FILES: Mapping[str, str] = {
    "README.md": "Fares of the ferry to Dover.\n\n"
    + "".join(f"- {hour:02}:{minute:02} to Dover\n" for hour in range(24) for minute in range(60)),
    "fares.py": '"""Fares."""\n\n\ndef fare(age):\n    """Return "12" or "0"."""\n    return 12\n',
    "test_fares.py": (
        "from fares import fare\n\nassert fare(4) == 0\nassert fare(5) == "
        "12\nprint('OK: 2 fares')\n"
    ),
}
"""Quotes and line breaks are what models break JSON with. The README has 6,000 tokens, which fill a
small window.
"""

SIGN = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAAAAAA6mKC9AAAAFElEQVR42mNgoAb4DwRIxIAJUA4A0P5foVkrCGoAAAAASUVORK5CYII="  # noqa: E501 - one text, or a row of a table
"""A PNG, in base64, that lies in the repository as `sign.png`. Only a model that sees can say what
it shows.
"""

SEEN = "A sign at the gangway says: under 5 free."
"""How a model that sees describes it."""

OLD = '    """Return "12" or "0"."""\n    return 12'
WRONG = '    """Return "12" or "0"."""\n    return 0 if age <= 5 else 12'
RIGHT = '    """Return "12" or "0"."""\n    return 0 if age < 5 else 12'


class Step(Enum):
    """What a model does next."""

    LIST = auto()
    READ = auto()
    INSPECT = auto()
    EDIT = auto()
    TEST = auto()
    CORRECT = auto()
    END = auto()
    LOST = auto()


class Call(NamedTuple):
    """A function of the Chat request, and its arguments."""

    name: str
    arguments: dict[str, Any]


REPEATED_REQUEST = re.compile("This (?:call was not made|input was not used|answer was not used)")
"""How Antiphon requests a call or an answer once more."""

SUMMARY = re.compile(r"What comes next: (\w+)")

_EVIDENCE = (
    (re.escape(SEEN), Step.EDIT),
    (r"Traceback", Step.CORRECT),
    (r"def fare\(age\)", Step.EDIT),
    (r"OK: 2 fares", Step.END),
    (r"Success\. Updated|Edit applied", Step.TEST),
    (r"test_fares\.py", Step.READ),
)
"""What an output shows, and what follows from it."""


def next_step(messages: list[dict[str, Any]]) -> Step:
    """Return what follows from the last output of a tool in these messages, or from the summary
    that replaced it.
    """
    for output in reversed([output for message in messages for output in _outputs(message)]):
        if summary := SUMMARY.search(output):
            return Step[summary[1]]
        if not REPEATED_REQUEST.match(output):
            return next((step for sign, step in _EVIDENCE if re.search(sign, output)), Step.LOST)
    return Step.LIST


def summary(messages: list[dict[str, Any]]) -> str:
    """Return a summary of the conversation that the last message quotes or that the others are."""
    text = text_of(messages[-1])
    found = [(seen.end(), step) for sign, step in _EVIDENCE for seen in re.finditer(sign, text)]
    step = max(found, key=lambda one: one[0])[1] if found else next_step(messages)
    return f"What comes next: {step.name}"


def _outputs(message: dict[str, Any]) -> list[str]:
    """Return what a tool returned: a message of its own, or blocks where the backend takes no
    tools.

    A summary and the description of an image count, too.
    """
    text = text_of(message)
    if message["role"] == "tool" or SUMMARY.search(text) or SEEN in text:
        return [text]
    return re.findall(r"<tool_response>\n(.*?)\n</tool_response>", text, re.DOTALL)


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message."""
    content = message.get("content") or ""
    return (
        content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    )


def codex_calls(work: Path) -> Mapping[Step, Call]:
    """Return the calls of the plan with the tools of Codex."""
    return {
        Step.LIST: Call("exec_command", {"cmd": "ls -la"}),
        Step.READ: Call(
            "exec_command", {"cmd": 'echo "the files:" && cat README.md fares.py test_fares.py'}
        ),
        Step.INSPECT: Call("view_image", {"path": str(work / "sign.png")}),
        Step.EDIT: Call("apply_patch", {"input": _patch(OLD, WRONG)}),
        Step.TEST: Call("exec_command", {"cmd": "python3 test_fares.py"}),
        Step.CORRECT: Call("apply_patch", {"input": _patch(WRONG, RIGHT)}),
    }


def opencode_calls(work: Path) -> Mapping[Step, Call]:
    """Return the calls of the plan with the tools of opencode, which edits only files that it has
    read.
    """
    path = str(work / "fares.py")
    return {
        Step.LIST: Call(
            "bash", {"command": "ls -la && cat README.md", "description": 'List "the files"'}
        ),
        Step.READ: Call("read", {"filePath": path}),
        Step.INSPECT: Call("read", {"filePath": str(work / "sign.png")}),
        Step.EDIT: Call("edit", {"filePath": path, "oldString": OLD, "newString": WRONG}),
        Step.TEST: Call(
            "bash", {"command": "python3 test_fares.py", "description": "Run the test"}
        ),
        Step.CORRECT: Call("edit", {"filePath": path, "oldString": WRONG, "newString": RIGHT}),
    }


def _patch(old: str, new: str) -> str:
    changes = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    return "\n".join(
        ["*** Begin Patch", "*** Update File: fares.py", "@@", *changes, "*** End Patch"]
    )


def functions_of(request: dict[str, Any]) -> set[str]:
    """Return the names of the functions that a request offers, as tools or in its prompt."""
    reported = re.search(
        r"# Functions\n.*?<tools>\n(.*?)\n</tools>", text_of(request["messages"][0]), re.DOTALL
    )
    lines = [json.loads(line) for line in reported[1].splitlines()] if reported else []
    return {
        function["name"]
        for function in [*(tool["function"] for tool in request.get("tools") or ()), *lines]
    }


def write_repository(work: Path) -> None:
    """Write the repository as the task finds it."""
    for name, content in FILES.items():
        (work / name).write_text(content)
    (work / "sign.png").write_bytes(base64.b64decode(SIGN))


def passes(work: Path) -> bool:
    """Whether the test passes, which nobody may have changed."""
    (work / "test_fares.py").write_text(FILES["test_fares.py"])
    return (
        subprocess.run(
            [sys.executable, "test_fares.py"], cwd=work, capture_output=True, check=False
        ).returncode
        == 0
    )
