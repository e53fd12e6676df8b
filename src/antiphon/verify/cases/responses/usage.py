"""responses: usage."""
