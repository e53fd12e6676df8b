"""Storage for the content of files: rows of the store, or objects in a directory or a bucket."""
