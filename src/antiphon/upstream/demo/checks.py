"""What `demo` refuses, as a real server does: messages, tools and formats that make no sense."""

from collections.abc import Iterator
from typing import Any

from antiphon.errors import ClientError

ROLES = ("developer", "system", "user", "assistant", "tool", "function")

PARTS = ("text", "refusal", "image_url", "input_audio", "file")

CHOICES = ("none", "auto", "required")

SCHEMES = ("data:", "http://", "https://")


def check(request: dict[str, Any]) -> None:
    """Raise `ClientError` for what OpenAI's server refuses too, whatever the model."""
    called: set[Any] = set()
    for place, message in enumerate(request["messages"]):
        _check_message(message, f"messages[{place}]", called)
        called |= {call.get("id") for call in message.get("tool_calls") or () if isinstance(call, dict)}
    _check_tool_choice(request)
    _check_format(request.get("response_format"))
    if (request.get("n") or 1) != 1:
        raise ClientError("Unsupported value: demo gives one choice.", code="unsupported_value", param="n")


def _check_message(message: dict[str, Any], path: str, called: set[Any]) -> None:
    role, content = message.get("role"), message.get("content")
    _check_word(role, ROLES, f"{path}.role")
    if content is None and role not in ("assistant", "function"):
        raise _invalid(
            f"{path}.content", f"Missing required parameter: '{path}.content'.", "missing_required_parameter"
        )
    for number, part in enumerate(content if isinstance(content, list) else ()):
        _check_part(part, f"{path}.content[{number}]")
    if role == "tool" and message.get("tool_call_id") not in called:
        text = (
            "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
        )
        raise _invalid(f"{path}.role", text, None)


def _check_part(part: Any, path: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    _check_word(kind, PARTS, f"{path}.type")
    for url in _urls(part):
        if not isinstance(url, str) or not url.startswith(SCHEMES):
            raise _invalid(
                f"{path}.image_url", "Invalid image URL: expected a data URL or an http(s) URL.", "invalid_image_url"
            )


def _urls(part: dict[str, Any]) -> Iterator[Any]:
    """Give the URL of an image: in an object, or bare as some clients have it."""
    if part["type"] == "image_url":
        image = part.get("image_url")
        yield image.get("url") if isinstance(image, dict) else image


def _check_tool_choice(request: dict[str, Any]) -> None:
    choice = request.get("tool_choice")
    if choice is None:
        return
    if isinstance(choice, str):
        _check_word(choice, CHOICES, "tool_choice")
    if not request.get("tools") and choice != "none":
        raise _invalid(
            "tool_choice", "Invalid value for 'tool_choice': it is only allowed where 'tools' are given.", None
        )


def _check_format(form: Any) -> None:
    if isinstance(form, dict) and form.get("type") == "json_schema" and not isinstance(form.get("json_schema"), dict):
        path = "response_format.json_schema"
        raise _invalid(path, f"Missing required parameter: '{path}'.", "missing_required_parameter")


def _check_word(value: Any, allowed: tuple[str, ...], path: str) -> None:
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(f"'{one}'" for one in allowed)
        raise _invalid(path, f"Invalid value: '{str(value)[:100]}'. Supported values are: {listed}.", "invalid_value")


def _invalid(param: str, message: str, code: str | None) -> ClientError:
    return ClientError(message, code=code, param=param)
