"""The turn that all contenders judge: five claims about a ferry, one of them wrong and one missing from the document."""

from __future__ import annotations

from typing import Any

QUESTION = "Can you tell me about the ferry to Hallow Island? We would come on Saturday with our bicycles."

DOCUMENT = (
    "The ferry Margit runs between Brackwater and Hallow Island from April to October. It leaves Brackwater from Pier 3, next to "
    "the fish market, and needs forty minutes for the crossing. On weekdays there are six departures, on Saturdays and Sundays "
    "nine. Bicycles travel free of charge, as long as there is room for them on the car deck. Dogs are welcome on a lead. "
    "The last boat back to the mainland sails at half past seven in the evening; whoever misses it stays on the island "
    "overnight, since there is neither a water taxi nor a bridge. In winds above force eight the service is suspended, and the "
    "harbour office puts a red ball on the signal mast. Tickets are sold on the pier, not on board, by card only. The Margit was "
    "built in 1978 and lengthened by eleven metres in 2006; she carries two hundred passengers and fourteen cars."
)
"""About 190 tokens."""

SUPPORTED = (
    "The ferry to Hallow Island leaves Brackwater from Pier 3.",
    "The crossing to Hallow Island takes forty minutes.",
    "Bicycles travel free of charge on the ferry to Hallow Island.",
)
CONTRADICTED = "The last boat back from Hallow Island sails at nine in the evening."
LACKING = "The ferry to Hallow Island has a café on its upper deck."
CLAIMS = (*SUPPORTED, CONTRADICTED, LACKING)

REASONS = {
    CONTRADICTED: "The document says that the last boat back sails at half past seven.",
    LACKING: "The document mentions no café on the ferry.",
}
"""Why a claim is not supported; the others are."""

QUOTES = {
    SUPPORTED[0]: "It leaves Brackwater from Pier 3",
    SUPPORTED[1]: "needs forty minutes for the crossing",
    SUPPORTED[2]: "Bicycles travel free of charge",
    CONTRADICTED: "The last boat back to the mainland sails at half past seven in the evening",
}
"""The document's words that decide a claim."""

ANSWER = " ".join(CLAIMS)

MODEL = "gpt-4o-mini"
"""A name that every peer knows; nothing but the scripted server answers to it."""


def conversation() -> dict[str, Any]:
    """The turn as JSON: question, answer and the document that it was grounded in."""
    return {"question": QUESTION, "answer": ANSWER, "document": DOCUMENT}
