"""Where the content of files is."""
