"""Search over the chunks of files: splitting texts, filters and ranking without I/O, and the search
itself.
"""
