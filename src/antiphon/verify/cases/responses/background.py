"""responses: background."""
