"""Tool calls that a model writes as text, found while the text streams. No I/O.

text ── `reader.TextCallReader` (where in the text a call can begin: `place.py`)
     ── `candidate.Candidate` (its format, and its end: `formats.py`)
     ── a parser for each family (`*_calls.py`) ──> `TextCall`, or the same text again
"""
