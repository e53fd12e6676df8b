"""responses: stream."""
