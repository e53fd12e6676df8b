"""Converts files to text, and pages of a PDF to images: in child processes with limits
(`reader.py`, `extraction/`).
"""
