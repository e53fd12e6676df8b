"""responses: paths."""
