"""transport: http."""
