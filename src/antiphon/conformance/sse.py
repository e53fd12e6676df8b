"""Server-sent events, read as the HTML standard says, with what an exact reader wants to know besides."""

from dataclasses import dataclass, field


@dataclass
class Frame:
    """What stands between two empty lines."""

    event: str | None = None
    data: str | None = None
    """The `data` lines joined by line feeds; None where there is none, as in a comment."""
    id: str | None = None
    comments: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Names of fields that the standard does not know."""
    is_ended: bool = False
    """Whether an empty line ends it; a browser drops a last frame that has none."""

    def add(self, line: str) -> None:
        """Take a line in."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "":
                self.comments.append(value)
            case "data":
                self.data = value if self.data is None else f"{self.data}\n{value}"
            case "event":
                self.event = value
            case "id":
                self.id = value
            case "retry":
                pass
            case _:
                self.others.append(name)


def read_frames(body: bytes) -> list[Frame]:
    """Return the frames of a body. Whatever stands in it is read, as UTF-8 with replacements; nothing is raised."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    *lines, rest = text.split("\n")
    frames: list[Frame] = []
    frame: Frame | None = None
    for line in lines:
        if line:
            frame = frame or Frame()
            frame.add(line)
        elif frame is not None:
            frame.is_ended = True
            frames.append(frame)
            frame = None
    if rest:
        frame = frame or Frame()
        frame.add(rest)
    return [*frames, frame] if frame is not None else frames
