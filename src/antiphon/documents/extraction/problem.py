"""Why a file cannot be read."""

INSTALL = "pip install 'antiphon[files]'"
"""The command that installs the packages for PDF and HTML."""


class Problem(Exception):  # noqa: N818 - it is what the parent process reports, not a failure of this program
    """A file cannot be read.

    `message` is the reason as a sentence, for the client that sent the file.

    `code`: `invalid_file` for a damaged, protected or empty file, `unsupported_file` for an
    unsupported format. `reason`: `password`, `no_text`, or empty. `pages`: those of a PDF without
    text.
    """

    def __init__(
        self, message: str, code: str = "invalid_file", reason: str = "", pages: int = 0
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.pages = pages


def damaged(what: str) -> Problem:
    """Return the problem of a file that does not match its name or its first bytes."""
    return Problem(f"The file is not a valid {what}: it is damaged or incomplete.")


def protected(what: str) -> Problem:
    """Return the problem of a file that only opens with a password."""
    return Problem(
        f"The {what} is protected by a password. Send a copy without a password.", reason="password"
    )


def without_text(what: str, hint: str = "", pages: int = 0) -> Problem:
    """Return the problem of a file without text."""
    return Problem(f"The {what} contains no text.{hint}", reason="no_text", pages=pages)


def not_loaded(what: str) -> Problem:
    """Return the problem of a file that needs a package that is installed and cannot be loaded."""
    message = (
        f"This server cannot read {what}, because a package cannot be loaded. "
        "On the server, run: antiphon doctor."
    )
    return Problem(message, "unsupported_file")


def not_installed(what: str) -> Problem:
    """Return the problem of a file that needs a package that is not installed."""
    message = (
        f"This server cannot read {what}, because a package is missing. "
        f"On the server, run: {INSTALL}."
    )
    return Problem(message, "unsupported_file")
