"""The return values of the gateway's methods: JSON objects of the API."""

from collections.abc import Coroutine
from typing import Any

JsonObject = dict[str, Any]

Made = Coroutine[Any, Any, JsonObject]
"""An object of the API, once it is awaited."""
