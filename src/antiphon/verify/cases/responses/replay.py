"""responses: replay."""
