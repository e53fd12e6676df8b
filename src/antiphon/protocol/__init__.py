"""The two APIs as data: the types of everything on the wire. No behaviour, no I/O."""
