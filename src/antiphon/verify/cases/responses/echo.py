"""responses: echo."""
