"""responses: hosted."""
