"""Tool calls that a model writes as text, found while the text streams. No I/O.

text ── `reader.TextCallReader` (where in the text a call may begin: `place.py`)
     ── `candidate.Candidate` (which format it is, where it ends: `formats.py`)
     ── a parser for each family (`*_calls.py`) ──> `TextCall`, or the same text again
"""
