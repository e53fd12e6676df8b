"""The two APIs as data: what goes over the wire, as types. No behaviour, no I/O."""
