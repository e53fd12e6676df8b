"""Calls at the very end of reasoning: a model called before it closed its reasoning."""

from collections.abc import Mapping

from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.from_chat.text_calls.found import TextCall
from antiphon.translation.from_chat.text_calls.reader import Piece, TextCallReader


class LastCallReader:
    """Finds calls of `offers` in reasoning, if only whitespace follows them and the answer ends
    with it.

    vLLM and SGLang end the reasoning where such a call begins (vllm#39056, vllm#32216,
    sglang#11764). Reasoning about calls is not a call: LM Studio's parser mistakes it for calls
    (lmstudio-bug-tracker#1592). Only formats with marks count.
    """

    def __init__(self, offers: Mapping[str, Offer]) -> None:
        self._reader = TextCallReader(offers, only_marked=True)
        self._retained: list[Piece] = []
        """Calls, and whitespace between them, that can turn out to end the answer."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is held back."""
        return not self._retained and self._reader.is_steady

    def feed(self, text: str) -> str:
        """Add reasoning; return the text that is certainly reasoning by now."""
        return self._sift(self._reader.feed(text))

    def flush(self, *, is_answer: bool) -> tuple[str, list[TextCall]]:
        """Return what was held back, as reasoning or as calls: calls only if the answer is over
        (`is_answer`).
        """
        text = self._sift(self._reader.flush(is_answer=is_answer))
        retained = self._retained
        self._retained = []
        calls = [piece for piece in retained if isinstance(piece, TextCall)]
        return (text, calls) if is_answer else (text + _reported(retained), [])

    def _sift(self, pieces: list[Piece]) -> str:
        certain = ""
        for piece in pieces:
            if isinstance(piece, TextCall) or (self._retained and piece.isspace()):
                self._retained.append(piece)
            else:
                certain += _reported(self._retained) + piece
                self._retained = []
        return certain


def _reported(pieces: list[Piece]) -> str:
    return "".join(piece.raw if isinstance(piece, TextCall) else piece for piece in pieces)
