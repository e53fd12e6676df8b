"""responses: same."""
