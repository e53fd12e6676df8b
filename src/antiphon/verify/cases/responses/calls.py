"""responses: calls."""
