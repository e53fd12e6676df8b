"""A program of its own: reads a file from standard input and writes its text. It runs in a process with limits.

A file may be made to exhaust whatever reads it, and libraries that read such files have been made to take gigabytes of
memory by a few kilobytes. So each file is read in a process that has a limit for everything, and that nothing else
depends on. This package imports nothing else of Antiphon, and each format only when a file has it.
"""
