"""The HTTP resources, one file each: `resources` returns the endpoints by path and method."""
