"""responses: conversations."""
