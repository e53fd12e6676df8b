"""A separate program: reads a file from standard input and writes its text. It runs in a process
with limits.

A file can be crafted to exhaust its reader: libraries for such files were made to use gigabytes of
memory by a few kilobytes. So each file is read in a process with limits on all resources, on which
nothing else depends. This package imports nothing else of Antiphon, and each format only when a
file has it.
"""
