"""responses: errors."""
