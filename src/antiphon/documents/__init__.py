"""Files become text, and pages of a PDF become images: in child processes with limits (`reader.py`, `extraction/`)."""
