"""responses: cancel."""
