"""Shared parts of cases about code: the programs to run, how they are requested, and how their
outputs are read.
"""

import json
from collections.abc import Iterable
from typing import Any

from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import at, is_text, listed
from antiphon_verify.requirement import Stop
from antiphon_verify.samples import spelled
from antiphon_verify.trial import ExchangeSteps, Trial

Item = dict[str, Any]

OUTPUTS = ["code_interpreter_call.outputs"]

AUTO: Item = {"type": "code_interpreter", "container": {"type": "auto"}}

SHELL: Item = {"type": "shell", "environment": {"type": "container_auto"}}

FACT = "High water in Brest is at 11:20."

PRINTING = 'print("verify", 6 * 7)'
VALUED = 'print("P1")\nprint("P2")\n6 * 7'
RAISING = 'print("before")\n1 / 0'
WRITING = 'with open("/mnt/data/verify.txt", "w") as file:\n    file.write("made by code")'
READING = (
    'import pathlib\nfor one in pathlib.Path("/mnt/data").iterdir():\n    print(one.read_text())'
)
DRAWING = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"

LINK = "sandbox:/mnt/data/verify.txt"


def task(*codes: str, words: str = "") -> str:
    """Return a request to run Python code, each part in a separate call; servers name the function
    differently.
    """
    blocks = "\n".join(f"```python\n{code}\n```" for code in codes)
    prompt = (
        "Run this Python code with your tool, unchanged and each part in a call of its own. "
        f"{words}\n{blocks}"
    )
    arguments = [json.dumps({"code": code}) for code in codes]
    return spelled(
        prompt, *(f"{name} {one}" for name in ("code_interpreter", "python") for one in arguments)
    )


def run(
    trial: Trial, *codes: str, tool: Item = AUTO, words: str = "", **parameters: Any
) -> ExchangeSteps:
    """Run code."""
    return trial.respond(task(*codes, words=words), tools=[tool], **parameters)


def calls(trial: Trial, exchange: Exchange) -> list[Item]:
    """Return the calls of a response. Ends the case without any."""
    trial.offered(exchange)
    return calls_of(trial.response(exchange))


def calls_of(response: Any) -> list[Item]:
    """Return the calls of a response. Ends the case without any."""
    found = [
        item for item in listed(response, "output") if at(item, "type") == "code_interpreter_call"
    ]
    if not found:
        raise Stop("skipped", "No code was run.")
    return found


def outputs_of(items: Iterable[Item]) -> list[Any]:
    """Return the outputs of all calls."""
    return [one for item in items for one in listed(item, "outputs")]


def logs_of(items: Iterable[Item]) -> str:
    """Return what all calls printed and returned."""
    return "\n".join(str(at(one, "logs")) for one in outputs_of(items) if at(one, "type") == "logs")


def is_output(value: Any) -> bool:
    """Whether this is an output of a call."""
    return is_text(at(value, "logs" if at(value, "type") == "logs" else "url"))


def is_whole(item: Item) -> bool:
    """Whether a call completed, and has everything that a client needs."""
    return at(item, "status") == "completed" and all(
        is_text(at(item, key)) for key in ("id", "code", "container_id")
    )


def citations_of(response: Any) -> list[tuple[Any, str]]:
    """Return the citations of container files, each with its text."""
    parts = (part for item in listed(response, "output") for part in listed(item, "content"))
    cited = ((one, str(at(part, "text"))) for part in parts for one in listed(part, "annotations"))
    return [(one, text) for one, text in cited if at(one, "type") == "container_file_citation"]
