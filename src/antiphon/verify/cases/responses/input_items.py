"""responses: input items."""
