"""Calls and their outputs belong together: which conversations a model can be shown."""

from collections import Counter
from collections.abc import Sequence

from antiphon.errors import ClientError
from antiphon.protocol.items import FunctionCall, FunctionCallOutput, InputItem, ItemReference


def check_calls(items: Sequence[InputItem]) -> None:
    """Refuse what no model could answer; `items` is the whole conversation, history first.

    Raises `ClientError` with `param` `input` (specification section 13) for an id that stands twice, an output
    without its call, a call without its output, and a second output of one call.
    """
    for refusal in _refusals(items):
        raise refusal


def _refusals(items: Sequence[InputItem]) -> list[ClientError]:
    ids = Counter(item.id for item in items if isinstance(item.id, str) and not isinstance(item, ItemReference))
    calls = Counter(item.call_id for item in items if isinstance(item, FunctionCall))
    outputs = Counter(item.call_id for item in items if isinstance(item, FunctionCallOutput))
    return [
        *(
            _refuse(f"Duplicate item found with id {item}. Remove duplicate items and try again.")
            for item in _twice(ids)
        ),
        *(
            _refuse(f"No tool call found for function call output with call_id {call_id}.")
            for call_id in outputs
            if call_id not in calls
        ),
        *(_refuse(f"No tool output found for function call {call_id}.") for call_id in calls if call_id not in outputs),
        *(
            _refuse(f"Duplicate tool output found for call_id {call_id}.", code="invalid_value")
            for call_id in _twice(outputs)
        ),
    ]


def _twice(counts: Counter[str]) -> list[str]:
    return [key for key, count in counts.items() if count > 1]


def _refuse(message: str, code: str | None = None) -> ClientError:
    return ClientError(message, code=code, param="input")
