"""responses: order."""
