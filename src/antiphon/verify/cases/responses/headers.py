"""responses: headers."""
