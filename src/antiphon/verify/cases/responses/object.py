"""responses: object."""
