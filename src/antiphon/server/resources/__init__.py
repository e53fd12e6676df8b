"""What is served over HTTP: one file a resource. `resources` of each returns its endpoints by path and method."""
