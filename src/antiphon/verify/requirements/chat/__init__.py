"""Chat Completions."""

from antiphon.verify.requirements.chat import answer, errors, formats, images, parameters, stream, tools

TABLES = (
    answer.TABLE,
    errors.TABLE,
    formats.TABLE,
    images.TABLE,
    parameters.TABLE,
    stream.TABLE,
    tools.TABLE,
)
