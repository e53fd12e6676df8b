"""responses: objects."""
