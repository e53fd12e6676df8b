"""responses: store."""
