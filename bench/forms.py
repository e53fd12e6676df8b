"""Forms with one file, for the readings that upload one."""

CONTENT_TYPE = "multipart/form-data; boundary=b"
TAIL = b"\r\n--b--\r\n"


def head(purpose: str, filename: str) -> bytes:
    """Return what stands before the content of the file; `TAIL` follows it."""
    return (
        f'--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
        f'--b\r\ncontent-disposition: form-data; name="file"; filename="{filename}"\r\n\r\n'
    ).encode()
