"""A chat that colours each claim by what became of it: `streamlit run examples/streamlit_chat.py`. Runs offline."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from html import escape
from uuid import uuid4

from vista_guard import Conversation, Document, Finding, Guard, Label, Role, Turn, TurnReport, Unchecked

try:
    import streamlit as st
except ImportError as missing:
    print(f"{missing}. This example needs: pip install 'vista-guard[dashboard]'", file=sys.stderr)
    sys.exit(2)

TOWER = Document(id="tower", text="The lighthouse was built in 1888. The last keeper, Marta Eide, left in 1974.")
FERRY = Document(id="ferry", text="The ferry from Port Hallow sails twice a day.")
ANSWERS = {
    "Tell me about the lighthouse.": "The lighthouse was built in 1888. It was painted red in 1950. I find it lovely.",
    "How do I get there?": "The ferry from Port Hallow sails twice a day. I don't know whether it takes dogs.",
    "Who was its last keeper?": "The last keeper was Marta Eide. Marta Eide left in 1999. She moved to Port Hallow.",
}
COLOURS = dict(zip(Label, ("#2e9e4f60", "#3b82f660", "#e5484d60", "#e8a31760", "#8b5cf660"), strict=True))


async def scripted(question: str) -> AsyncIterator[str]:
    for word in ANSWERS.get(question, "I don't know that.").split():
        yield f"{word} "
        await asyncio.sleep(0.05)


def page(text: str, outcomes: Sequence[Finding | Unchecked] = ()) -> str:
    """The text as HTML: its claims coloured, the reason and the quotes under the mouse."""
    html, place = "", 0
    for finding in outcomes:
        if isinstance(finding, Finding) and (span := finding.claim.span) and place <= span.start:
            why = "\n".join((f"{finding.label}: {finding.reason}", *(evidence.quote for evidence in finding.evidence)))
            mark = f'<mark style="background: {COLOURS[finding.label]}; color: inherit" title="{escape(why)}">'
            html += f"{escape(text[place : span.start])}{mark}{escape(text[span.start : span.end])}</mark>"
            place = span.end
    return f'<div style="white-space: pre-wrap">{html}{escape(text[place:])}</div>'


async def answer(question: str, box: st.delta_generator.DeltaGenerator) -> None:
    before, shown, found = Conversation(turns=[turn for turn, _ in talk], id=name), "", list[Finding | Unchecked]()
    async for piece in guard.gated(before, scripted(question), documents=[TOWER, FERRY], on_outcome=found.append):
        if isinstance(piece, TurnReport):
            talk.append((Turn(role=Role.ASSISTANT, text=piece.response), found))
        else:
            box.html(page(shown := f"{shown}{piece}", found))


guard = st.cache_resource(lambda: Guard.from_settings(store="memory"))()
name, talk = st.session_state.setdefault("talk", (uuid4().hex, []))
st.sidebar.html("<br>".join(f'<span style="background: {colour}">{label}</span>' for label, colour in COLOURS.items()))
st.sidebar.caption(f"Answers are verified against: {TOWER.text} {FERRY.text}")
for turn, outcomes in talk:
    st.chat_message(turn.role).html(page(turn.text, outcomes))
if question := st.chat_input("Ask about the island") or st.pills("Ask", ANSWERS, key=f"pills-{len(talk)}"):
    talk.append((Turn(role=Role.USER, text=question), ()))
    st.chat_message("user").html(page(question))
    asyncio.run(answer(question, st.chat_message("assistant").empty()))
    st.rerun()
