"""responses: text."""
