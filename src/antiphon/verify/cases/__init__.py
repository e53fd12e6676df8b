"""Every case, in the folders of the requirements."""

from antiphon.verify.case import Case
from antiphon.verify.cases import chat, responses, transport

CASES: tuple[Case, ...] = (*chat.CASES, *responses.CASES, *transport.CASES)
