"""transport: sse."""
