"""Chat Completions."""

from tests.verify.exchanges.chat import answer, errors, formats, images, parameters, stream, tools

AREAS = (
    answer,
    errors,
    formats,
    images,
    parameters,
    stream,
    tools,
)
