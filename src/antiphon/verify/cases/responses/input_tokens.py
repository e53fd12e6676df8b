"""responses: input tokens."""
