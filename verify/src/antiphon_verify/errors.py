"""The error that this package raises, and its log."""

import logging

log = logging.getLogger("antiphon_verify")


class VerifyError(Exception):
    """An option, a file or the address of a server is wrong. The text says what to correct.

    It never contains a key: `check_base_url` rejects URLs that do before a message can quote them.
    """
