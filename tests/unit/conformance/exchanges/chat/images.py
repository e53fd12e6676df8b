"""Images."""

from antiphon_verify.areas.chat import images
from tests.unit.conformance.exchanges import Answer, Shown, chunks, error, says, shown, spoiled
from tests.unit.conformance.exchanges.completions import CHUNKS, COMPLETION

GOOD = says(COMPLETION)

REFUSED = error("Invalid content.")

BROKEN = error("Internal Server Error", 500)


def telling(text: str) -> Answer:
    return GOOD.patched("choices", 0, "message", "content", to=text)


EXCHANGES: dict[str, Shown] = {
    **shown(
        images.a_picture_is_looked_at,
        [telling("Red.")],
        {"chat:images:data-url": [REFUSED], "chat:images:colour": [telling("Green.")]},
    ),
    **spoiled(images.two_pictures_are_told_apart, [telling("Blue.")], [telling("Red.")]),
    **spoiled(images.a_picture_is_streamed_about, [chunks(*CHUNKS)], [BROKEN]),
    **spoiled(images.a_broken_picture_is_no_fault_of_the_server, [REFUSED], [BROKEN]),
    **spoiled(images.a_file_of_the_server_is_not_read, [REFUSED], [GOOD]),
    **{name: one for case in images.TAKING for name, one in spoiled(case, [GOOD], [REFUSED]).items()},
}
