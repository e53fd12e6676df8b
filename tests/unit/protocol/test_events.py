"""The classes of events have the names of OpenAI's package."""

import inspect
from collections.abc import Iterator
from typing import get_args

from openai.types import responses

from antiphon import types
from antiphon.protocol.events import Event

OURS = {
    "keepalive": "only on WebSockets; the package has no class for it",
    "response.apply_patch_call_operation_diff.delta": "the package has no class for it",
    "response.apply_patch_call_operation_diff.done": "the package has no class for it",
}


def named_by_the_package() -> dict[str, str]:
    """The name of the package's class for each event."""
    found = {}
    for name, kind in vars(responses).items():
        if name.endswith("Event") and inspect.isclass(kind) and "type" in kind.model_fields:
            found |= dict.fromkeys(get_args(kind.model_fields["type"].annotation), name)
    return found


def classes() -> Iterator[type[Event]]:
    waiting = [Event]
    while waiting:
        waiting += (kind := waiting.pop()).__subclasses__()
        if str(kind.__struct_config__.tag) != kind.__name__:
            yield kind


def test_each_event_has_the_name_of_the_package() -> None:
    theirs = named_by_the_package()
    ours = {str(kind.__struct_config__.tag): kind.__name__ for kind in classes()}
    assert {
        event: name for event, name in ours.items() if theirs.get(event) != name
    }.keys() == OURS.keys()


def test_programs_find_them_in_the_types() -> None:
    steps = {kind.__name__ for kind in classes() if issubclass(kind, types.StepEvent)}
    assert {kind.__name__ for kind in classes()} - steps <= set(types.__all__)
