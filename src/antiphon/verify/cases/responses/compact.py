"""responses: compact."""
