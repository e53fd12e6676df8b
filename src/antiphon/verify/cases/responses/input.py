"""responses: input."""
