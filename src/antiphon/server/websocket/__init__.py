"""WebSocket mode of `/v1/responses`: one connection, its lanes, its steering and its memory."""
