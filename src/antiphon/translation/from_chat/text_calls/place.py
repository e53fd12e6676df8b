"""The position in a Markdown text: text in code is quoted, and not a call."""

TAB = 4
"""Columns of a tab."""

MAX_INDENT = 3
"""Spaces before a call on its line; more of them make it a code block."""

SENTENCE_ENDS = frozenset(".!?:…。！？：)")
"""What can directly precede a call that begins inside a line, in addition to a word."""

MAX_BEFORE = 24
"""Characters of the line that are kept."""

TURN_ENDS = (
    *(
        "<|im_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "</s>",
        "<｜end▁of▁sentence｜>",
        "<|call|>",
        "<|end|>",
    ),
    *("<|return|>", "<end_of_turn>", "<turn|>", "<|endoftext|>", "<|end_of_text|>"),
)
"""Tokens that end a turn. Servers that do not parse calls can leave them in the text
(ik_llama.cpp#958).
"""


class TextPlace:
    """The end of the text that was read so far."""

    def __init__(self) -> None:
        self._fence = ""
        """What opened the code block that is open."""
        self._fence_indent = 0
        self._begins_fence = False
        """Whether it was opened on this line."""
        self._ends_fence = False
        """Whether its closing mark is on this line, with nothing after it so far."""
        self._span = 0
        """Backticks that opened the inline code that is open; the end of a line closes it."""
        self._indent = 0
        self.is_blank = True
        """Whether the line has only whitespace so far."""
        self._before = ""
        """The end of the line so far."""
        self._is_quoted = False
        """Whether the line is indented like code, or a line of a quotation or a table."""

    @property
    def is_code(self) -> bool:
        """Whether the position is inside a code block, inline code or a quotation."""
        return bool((self._fence and not self._leaves_fence) or self._span or self._is_quoted)

    @property
    def _leaves_fence(self) -> bool:
        """Whether the line is indented less than a code block inside a list: that ends with its
        item.
        """
        return MAX_INDENT < self._fence_indent > self._indent

    @property
    def begins_line(self) -> bool:
        """Whether nothing precedes it on its line, and it is not code."""
        return self.is_blank and self._indent <= MAX_INDENT and not self.is_code

    @property
    def follows_text(self) -> bool:
        """Whether a word, the end of a sentence or of a turn directly precedes it, and it is not
        code.

        Models write a call's first token right after their text; prose that mentions it has a space
        or a quote there.
        """
        last = self._before[-1:]
        return not self.is_code and (
            last.isalnum() or last in SENTENCE_ENDS or self._before.endswith(TURN_ENDS)
        )

    def begin_line(self) -> None:
        """The position counts as the beginning of a line: a call ended right before it."""
        if self._ends_fence:
            self._fence = ""
        self.is_blank = True
        self._indent = 0
        self._span = 0
        self._before = ""
        self._is_quoted = self._begins_fence = self._ends_fence = False

    def read(self, text: str) -> None:
        """Advance past text without a line end, and without a run of backticks or tildes."""
        if not text:
            return
        if self.is_blank:
            blank = len(text) - len(text.lstrip())
            self._indent += blank + text.count("\t", 0, blank) * (TAB - 1)
            self.is_blank = blank == len(text)
            if not self.is_blank:
                self._begin_words()
                self._is_quoted = self._indent > MAX_INDENT or text[blank] in ">|"
        self._ends_fence = self._ends_fence and not text.strip()
        self._before = (self._before + text[-MAX_BEFORE:])[-MAX_BEFORE:]

    def read_run(self, run: str) -> None:
        """Advance past a whole run of backticks or tildes."""
        sign = run[0]
        count = len(run)
        if self.is_blank:
            self._begin_words()
        begins = self._begins_fence
        self._begins_fence = False
        self._ends_fence = False
        if self.is_blank and count >= 3:
            if not self._fence:
                self._fence = run
                self._fence_indent = self._indent
                self._begins_fence = True
            else:
                self._ends_fence = sign == self._fence[0] and count >= len(self._fence)
        elif (
            begins and sign == self._fence[0] == "`"
        ):  # more of them on the line: it began inline code
            self._span = 0 if count == len(self._fence) else len(self._fence)
            self._fence = ""
        elif sign == "`" and not self._fence and self._span in (0, count):
            self._span = count - self._span
        self.is_blank = False
        self._before = sign

    def _begin_words(self) -> None:
        if self._leaves_fence:
            self._fence = ""
            self._fence_indent = 0
