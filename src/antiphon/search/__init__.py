"""Search over the chunks of files: cutting texts, filters and ranking without I/O, and the searching itself."""
