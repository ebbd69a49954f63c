"""A small conversation, and everything that can be asked about it."""

from __future__ import annotations

from vista_guard.judges.model.chat.calling import ChatRequest
from vista_guard.judges.model.prompts import Prompts
from vista_guard.types import Claim, EvidenceSet, Passage, Role, SourceKind, Span, Turn

HISTORY = (
    Turn(role=Role.USER, text="Where is the tide museum?"),
    Turn(role=Role.ASSISTANT, text="At the harbour."),
    Turn(role=Role.USER, text="When does it open?"),
)
TURN = Turn(role=Role.ASSISTANT, text="It opens at nine.\nI love the tanks.")
CLAIM = Claim(id="t3.c1", text="The tide museum opens at nine.")
OTHER = Claim(id="t3.c2", text="The assistant loves the tanks of the tide museum.")


def document(text: str, title: str | None = None, name: str = "d1", start: int | None = None) -> Passage:
    span = None if start is None else Span(start=start, end=start + len(text))
    return Passage(source=SourceKind.DOCUMENT, source_id=name, text=text, title=title, span=span)


def known(text: str, source: SourceKind = SourceKind.KNOWLEDGE) -> Passage:
    return Passage(source=source, source_id=text, text=text)


EVIDENCE = EvidenceSet(
    documents=(document("The museum opens at ten.", "Hours"), document("It has four tanks.", name="d2")),
    knowledge=(known("The assistant's name is Mira.", SourceKind.PERSONA), known("The museum is at the harbour.")),
)


def all_requests(prompts: Prompts, evidence: EvidenceSet = EVIDENCE) -> dict[str, ChatRequest]:
    return {
        "decompose": prompts.decompose(TURN, HISTORY),
        "verify": prompts.verify(CLAIM, evidence),
        "categorize": prompts.categorize(CLAIM, evidence),
        "judge": prompts.judge([CLAIM, OTHER], evidence),
        "fused": prompts.fused(TURN, HISTORY, evidence),
    }


def user_text(request: ChatRequest) -> str:
    assert request.messages[-1].role == "user"
    return request.messages[-1].content


SHOWN_EVIDENCE = """<documents>
[1] Hours
The museum opens at ten.

[2] It has four tanks.
</documents>
<knowledge>
1. The assistant's name is Mira.
2. The museum is at the harbour.
</knowledge>
"""
SHOWN_HISTORY = """<history>
user: Where is the tide museum?
assistant: At the harbour.
user: When does it open?
</history>
"""
SHOWN_TURN = """<turn>
assistant: It opens at nine.
I love the tanks.
</turn>
"""
