"""responses: chain."""
