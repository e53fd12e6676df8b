"""The page of events lists what this server emits, with its fields."""

from collections.abc import Iterator

import msgspec
from msgspec import UnsetType

from antiphon.protocol import events
from tests.support.pages import table

LISTED = {
    name: {field.strip("`") for field in fields.split(", ") if field}
    for name, fields, _ in table("events", "Event", "Fields", "When")
}


def kinds(base: type[events.Event] = events.Event) -> Iterator[type[events.Event]]:
    for kind in base.__subclasses__():
        yield from kinds(kind)
        if kind.__struct_config__.tag != kind.__name__:
            yield kind


def fields_of(kind: type[events.Event]) -> set[str]:
    """The fields as the page writes them: those that may be absent in parentheses."""
    own = [field for field in msgspec.structs.fields(kind) if field.name != "sequence_number"]
    return {
        f"(`{field.name}`)" if UnsetType in getattr(field.type, "__args__", ()) else field.name
        for field in own
    }


def test_every_event_has_its_row_with_its_fields_and_every_row_its_event() -> None:
    assert {str(kind.__struct_config__.tag): fields_of(kind) for kind in kinds()} == LISTED


def test_the_terminal_events_are_those_that_the_page_calls_so() -> None:
    terminal = {
        name
        for name, _, when in table("events", "Event", "Fields", "When")
        if when.startswith("Terminal")
    }
    assert terminal == {kind.__struct_config__.tag for kind in events.TERMINAL}
