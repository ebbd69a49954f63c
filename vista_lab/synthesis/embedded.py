"""Makes pairs without a model, key or network: claims by the embedded judge's rules, edits and paraphrases by the rewriters.

The four steps are the paper's (LLM-OASIS, §3, Eq. 1–4). It prefers few sure claims: what it cannot state in 15 words, with a
subject that is no pronoun, it leaves out, and a passage with fewer than two such claims, or without a claim that it can make
false, is rejected with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from random import Random

from vista_guard.errors import ConfigError
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.embedded.english.words import word_set
from vista_guard.types import Role, Turn
from vista_lab.synthesis.alterations import FRONT, Alteration, alterations, main_verb
from vista_lab.synthesis.gates import MOST_WORDS, PRONOUN
from vista_lab.synthesis.paraphrases import joined, paraphrase
from vista_lab.synthesis.records import Answered, GeneratedPair, NoPair, Passage
from vista_lab.synthesis.rewriters.carrier import read_text
from vista_lab.synthesis.rewriters.text import tokens

RULES = "1"
"""Another number when the same passage gives another pair."""
LEAST_WORDS, LEAST_CLAIMS = 4, 2
_MARKUP = re.compile(
    r"[|{}<>=*_#•\[\]\\^~$@]|https?:|www\.|\w{30}|[a-z][A-Z][a-z]|\.\.|\b\w+\.(?:com|org|gov|html?|json)\b|;|:\s|^\W"
)
_TALK = re.compile(
    r"\b(?:the assistant|the user|please|click|see|visit|refer to|the following|listed below|above"
    r"|this (?:page|section|topic)|figure|i|me|my|we|us|our|here|next|also|then|else|latter|former|would|respectively)\b",
    re.IGNORECASE,
)
_OPENERS = re.compile(
    r"^(?:However|Basically|Typically|Also|Additionally|In addition|Moreover|Furthermore|Therefore|Thus|Finally|Then|So|And|But"
    r"|Nevertheless|Consequently|As a result|In fact|Indeed|Likewise|Similarly|Hence|Again"
    r"|Meanwhile|Overall|Ultimately|For example|For instance|In other words),? (?=\w)"
)
_TAILS = re.compile(
    r",? (?:which|who|whose|where|including|such as|as well as|along with|ranging from|making|resulting in|allowing|so that"
    r"|although|though|whereas|while|but|leading to|according to|known as|especially|particularly|even though)\b.*$"
)
_DANGLING = re.compile(
    r"(?:because|if|although|when|while|unless|until|whether|since|as|to) [^,]*$|.*(?:--| - )", re.IGNORECASE
)
"""A clause that hangs on another one, which is missing."""
_FIGURE_ALONE = re.compile(r"^\d|(?<!\bin )(?<!\bof )(?<!\bto )(?<!\bat )(?<!\bis )(?<!, )\b\d{1,3}\.$")
"""A figure that lost its unit or what it is compared with."""
_OPEN_END = re.compile(
    r"\b(?:of|to|in|at|for|with|by|from|on|as|and|or|the|a|an|that|new|own|such|more|most|very|much of|most of)\.$",
    re.IGNORECASE,
)
_ASIDE = re.compile(r" ?\([^()]*\)|, (?:[A-Z]\w+ ?){1,4}, (?=(?:is|was|has|will)\b)")


class EmbeddedGenerator:
    """Makes a pair of a passage by rule.

    Args:
        edits: `paper`, or `all` for changed values and names and for denials too.
        seed: of its choices.

    Raises:
        ConfigError: no such edits.
    """

    def __init__(self, edits: str = "paper", seed: int = 0) -> None:
        if edits not in ("paper", "all"):
            raise ConfigError(f"edits is {edits!r}; give paper or all")
        self._edits, self._seed = edits, seed

    @property
    def name(self) -> str:
        """`embedded`, with the versions of its rules and of its words."""
        words = sha256((read_text("alterations.json") + read_text("opposites_real.json")).encode()).hexdigest()[:8]
        return f"embedded {RULES}-{words}"

    @property
    def options(self) -> dict[str, str]:
        """Everything else that changes its pairs."""
        return {"edits": self._edits}

    async def generate(self, passage: Passage) -> Answered:
        """The passage's pair, or why there is none."""
        return Answered(self.make(passage))

    def make(self, passage: Passage) -> GeneratedPair | NoPair:
        """The passage's pair, or why there is none."""
        claims = plain_claims(passage.text)
        if len(claims) < LEAST_CLAIMS:
            number = "no claim" if not claims else "one claim"
            return NoPair(f"the rules state {number} of it in {MOST_WORDS} words, with a subject that is no pronoun")
        seed = f"{self._seed}:{passage.id}"
        for place, edit in self._edited(claims, passage.text, seed):
            pair = _told(claims, place, edit, seed)
            if pair is not None:
                return pair
        return NoPair(f"the rules can make none of its {len(claims)} claims false")

    def _edited(self, claims: Sequence[str], text: str, seed: str) -> list[tuple[int, Alteration]]:
        """All edits of all claims; kinds that are rare in the passage come as soon as those that are common."""
        found = []
        for place, claim in enumerate(claims):
            others = [*claims[:place], *claims[place + 1 :]]
            found += [(place, edit) for edit in alterations(claim, text, others, self._edits, self._seed)]
        rng, common = Random(seed), Counter(edit.kind for _, edit in found)
        weights = {kind: _WEIGHTS.get(kind, 1.0) / count for kind, count in common.items()}
        return sorted(found, key=lambda one: rng.random() ** (1.0 / weights[one[1].kind]), reverse=True)


_WEIGHTS = {"parallel": 6.0, "direction": 6.0, "comparison": 6.0, "role": 6.0, "condition": 2.0, "phrase": 1.5}
"""How much sooner a kind is drawn: exchanges have the same words on both sides, so that no word tells the label."""


def _told(claims: Sequence[str], place: int, edit: Alteration, seed: str) -> GeneratedPair | None:
    """Factual and unfactual text along the claims; None where the edit would be lost in them."""
    told = [paraphrase(claim, seed, edit.words if at == place else frozenset()) for at, claim in enumerate(claims)]
    false = paraphrase(edit.text, seed, edit.words)
    if false == told[place] or false in told:
        return None
    factual = " ".join(joined(told, seed))
    unfactual = " ".join(joined([*told[:place], false, *told[place + 1 :]], seed))
    return GeneratedPair(claims=tuple(claims), altered=place, falsified=edit.text, factual=factual, unfactual=unfactual)


def plain_claims(text: str) -> list[str]:
    """The claims of a passage that stand for themselves: at most 15 words, subject and verb, no pronoun for a subject."""
    found = (plain_claim(claim.text) for claim in decompose(Turn(role=Role.ASSISTANT, text=text), ()))
    return list(dict.fromkeys(one for one in found if one))


def plain_claim(claim: str) -> str:
    """The claim, without what only hangs on it; an empty text where it is none that stands for itself."""
    said = _OPENERS.sub("", claim.strip().replace("The user's", "Your").replace("the user's", "your"))
    said = " ".join(_ASIDE.sub(lambda aside: "" if aside.group().startswith((" (", "(")) else " ", said).split())
    if len(said.split()) > MOST_WORDS:
        said = _TAILS.sub(".", said)
    said = said[:1].upper() + said[1:].rstrip(" ,.!") + "."
    if _OPEN_END.search(said):
        return ""
    fits = LEAST_WORDS <= len(said.split()) <= MOST_WORDS and not PRONOUN.match(said) and not _DANGLING.match(said)
    marred = "?" in said or any(pattern.search(said) for pattern in (_FIGURE_ALONE, _TALK, _MARKUP))
    return said if fits and not marred and stated(said) else ""


def stated(claim: str) -> bool:
    """True if the claim has a plain subject and a finite verb, behind a time or place at most."""
    start = main_verb(claim)
    front = FRONT.match(claim)
    behind = claim[front.end() :] if front else claim
    return start is not None and not PRONOUN.match(behind) and not _asks(behind) and len(claim[start:].split()) > 1


def _asks(clause: str) -> bool:
    """True for an instruction, also behind a condition: "If it fails, contact us"."""
    behind = re.sub(r"^(?:If|When|Before|After|To|Once|Unless) [^,]+, ", "", clause)
    first = next(iter(tokens(behind)), None)
    return first is None or first.tag in {"VB", "VBP"} or (first.lower in _INSTRUCTIONS)


_INSTRUCTIONS = word_set(
    """follow contact use select click get let make keep check enter create add set run learn review complete submit call
    bring choose remove delete open ensure specify note start stop restart go find apply ask consider remember leave stay
    look turn put"""
)
"""Verbs that open an instruction, where the tagger takes them for nouns."""
