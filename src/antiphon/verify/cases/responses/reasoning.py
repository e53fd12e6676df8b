"""responses: reasoning."""
