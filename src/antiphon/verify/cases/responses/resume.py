"""responses: resume."""
