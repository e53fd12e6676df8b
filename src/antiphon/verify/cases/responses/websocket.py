"""responses: websocket."""
