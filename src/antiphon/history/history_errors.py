"""The errors for a history that cannot be continued, and for an input that does not fit it."""

from antiphon.errors import ClientError


def no_input() -> ClientError:
    """Return the error for a request without input (specification section 13)."""
    return ClientError(
        """One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided.""",  # noqa: E501 - one text, or a row of a table
        code="missing_required_parameter",
    )


def previous_not_found(response_id: str) -> ClientError:
    """Return the error for a chain that is not stored here (specification section 13)."""
    return ClientError(
        f"Previous response with id '{response_id[:100]}' not found.",
        code="previous_response_not_found",
        param="previous_response_id",
    )


def conversation_not_found(conversation_id: str) -> ClientError:
    """Return the error for a conversation that does not exist (specification section 13)."""
    return ClientError(
        f"Conversation with id '{conversation_id[:100]}' not found.",
        status=404,
        param="conversation",
    )


def conversation_locked() -> ClientError:
    """Return the error for a conversation that another response has locked (specification section
    13).
    """
    return ClientError(
        "Another process is currently operating on this conversation. "
        "Please retry in a few seconds.",
        code="conversation_locked",
        param="conversation",
        headers={"retry-after": "2"},
    )


def duplicate_item(item_id: str, param: str = "input") -> ClientError:
    """Return the error for an item that the conversation already contains (specification section
    13).
    """
    return ClientError(
        f"Duplicate item found with id {item_id[:100]}. Remove duplicate items from your input "
        "and try again.",
        param=param,
    )


def request_outside_history() -> ClientError:
    """Return the error for an approval request in the input of a request with a history."""
    return ClientError(
        "Invalid 'input': with 'previous_response_id' or 'conversation', the stored history "
        "already has each 'mcp_approval_request'. Send only the 'mcp_approval_response'.",
        code="invalid_value",
        param="input",
    )
