"""Transport: HTTP and server-sent events, for both APIs."""
