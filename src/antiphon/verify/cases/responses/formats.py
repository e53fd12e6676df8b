"""responses: formats."""
