"""responses: limits."""
