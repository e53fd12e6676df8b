"""Where the content of files is: in the store's own rows, or as objects in a directory or a bucket."""
