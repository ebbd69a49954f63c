"""Generates pairs without a model, key or network: claims by the embedded judge's rules, edits and paraphrases by the rewriters.

The four steps are the paper's (LLM-OASIS, §3, Eq. 1–4). It prefers few sure claims: at most 15 words, and a
subject that is no pronoun. A passage with fewer than two such claims, or without one that it can falsify, is rejected with
the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from random import Random

from vista_guard.errors import ConfigError
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.embedded.english.words import word_set
from vista_guard.protocols import Embedder
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Role, Turn
from vista_lab.oasis.alterations import FRONT, Alteration, alterations, main_verb
from vista_lab.oasis.frames import Donors
from vista_lab.oasis.gates import MOST_WORDS, PRONOUN
from vista_lab.oasis.paraphrases import link_sentences, paraphrase
from vista_lab.oasis.records import GeneratedPair, NoPair, PairAnswer, Passage
from vista_lab.oasis.rewriters.carrier import read_text
from vista_lab.oasis.rewriters.text import tokens

RULES = "2"
"""Version of the rules; bump it when a passage would give another pair."""
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
"""A subordinate clause without its main clause."""
_FIGURE_ALONE = re.compile(r"^\d|(?<!\bin )(?<!\bof )(?<!\bto )(?<!\bat )(?<!\bis )(?<!, )\b\d{1,3}\.$")
"""A figure without its unit or comparison."""
_OPEN_END = re.compile(
    r"\b(?:of|to|in|at|for|with|by|from|on|as|and|or|the|a|an|that|new|own|such|more|most|very|much of|most of)\.$",
    re.IGNORECASE,
)
_ASIDE = re.compile(r" ?\([^()]*\)|, (?:[A-Z]\w+ ?){1,4}, (?=(?:is|was|has|will)\b)")


class EmbeddedGenerator:
    """Generates a pair from a passage by rules.

    Args:
        edits: `paper`, or `all` for changed values and names and for denials too.
        seed: random seed of its choices.
        embedder: says how alike two phrases are; the shipped one by default.

    Raises:
        ConfigError: no such edits.
    """

    def __init__(self, edits: str = "paper", seed: int = 0, embedder: Embedder | None = None) -> None:
        if edits not in ("paper", "all"):
            raise ConfigError(f"edits is {edits!r}; give paper or all")
        self._edits, self._seed, self._embedder = edits, seed, embedder or OnnxEmbedder()
        self._donors: Donors | None = None

    def learn(self, passages: Iterable[Passage]) -> None:
        """Takes substitutes from these passages: windows of the whole corpus. Else a passage's own claims lend them."""
        claims = ((one.document, claim) for one in passages for claim in plain_claims(one.text))
        self._donors = Donors(claims, self._embedder)

    @property
    def name(self) -> str:
        """`embedded`, with the versions of its rules and of its words."""
        words = sha256((read_text("alterations.json") + read_text("opposites_real.json")).encode()).hexdigest()[:8]
        return f"embedded {RULES}-{words}"

    @property
    def options(self) -> dict[str, str]:
        """All other settings that change its pairs."""
        return {"edits": self._edits}

    async def generate(self, passage: Passage) -> PairAnswer:
        """The passage's pair, or why there is none."""
        return PairAnswer(self.make(passage))

    def make(self, passage: Passage) -> GeneratedPair | NoPair:
        """The passage's pair, or why there is none."""
        claims = plain_claims(passage.text)
        if len(claims) < LEAST_CLAIMS:
            number = "no claim" if not claims else "one claim"
            return NoPair(f"the rules state {number} of it in {MOST_WORDS} words, with a subject that is no pronoun")
        seed = f"{self._seed}:{passage.id}"
        for place, edit in self._draw_edits(claims, passage, seed):
            pair = _write_pair(claims, place, edit, seed)
            if pair is not None:
                return pair
        return NoPair(f"the rules can make none of its {len(claims)} claims false")

    def _draw_edits(self, claims: Sequence[str], passage: Passage, seed: str) -> list[tuple[int, Alteration]]:
        rng, own = Random(seed), [(passage.document, claim) for claim in claims]
        donors = self._donors or Donors(own, self._embedder)
        found = (
            (place, alterations(claim, passage, donors, self._edits, self._seed)) for place, claim in enumerate(claims)
        )
        edits = [(place, edit) for place, own in found for edit in own]
        return sorted(edits, key=lambda candidate: rng.random() ** (1.0 / candidate[1].weight), reverse=True)


def _write_pair(claims: Sequence[str], place: int, edit: Alteration, seed: str) -> GeneratedPair | None:
    """Writes the factual and unfactual text from the claims; None if the edit would be lost."""
    sentences = [paraphrase(claim, seed, edit.words if at == place else frozenset()) for at, claim in enumerate(claims)]
    false = paraphrase(edit.text, seed, edit.words)
    if false == sentences[place] or false in sentences:
        return None
    factual = " ".join(link_sentences(sentences, seed))
    unfactual = " ".join(link_sentences([*sentences[:place], false, *sentences[place + 1 :]], seed))
    return GeneratedPair(claims=tuple(claims), altered=place, falsified=edit.text, factual=factual, unfactual=unfactual)


def plain_claims(text: str) -> list[str]:
    """Self-contained claims of a passage: at most 15 words, with a verb and a subject that is no pronoun."""
    candidates = (plain_claim(claim.text) for claim in decompose(Turn(role=Role.ASSISTANT, text=text), ()))
    return list(dict.fromkeys(candidate for candidate in candidates if candidate))


def plain_claim(claim: str) -> str:
    """The claim without dependent parts; empty if it is not self-contained."""
    text = _OPENERS.sub("", claim.strip().replace("The user's", "Your").replace("the user's", "your"))
    text = " ".join(_ASIDE.sub(lambda aside: "" if aside.group().startswith((" (", "(")) else " ", text).split())
    if len(text.split()) > MOST_WORDS:
        text = _TAILS.sub(".", text)
    text = text[:1].upper() + text[1:].rstrip(" ,.!") + "."
    if _OPEN_END.search(text):
        return ""
    fits = LEAST_WORDS <= len(text.split()) <= MOST_WORDS and not PRONOUN.match(text) and not _DANGLING.match(text)
    marred = "?" in text or any(pattern.search(text) for pattern in (_FIGURE_ALONE, _TALK, _MARKUP))
    return text if fits and not marred and stands_alone(text) else ""


def stands_alone(claim: str) -> bool:
    """True if the claim has a plain subject and a finite verb, after a time or place at most."""
    start = main_verb(claim)
    front = FRONT.match(claim)
    behind = claim[front.end() :] if front else claim
    return start is not None and not PRONOUN.match(behind) and not _asks(behind) and len(claim[start:].split()) > 1


def _asks(clause: str) -> bool:
    """True for an instruction, also after a condition: "If it fails, contact us"."""
    behind = re.sub(r"^(?:If|When|Before|After|To|Once|Unless) [^,]+, ", "", clause)
    first = next(iter(tokens(behind)), None)
    return first is None or first.tag in {"VB", "VBP"} or (first.lower in _INSTRUCTIONS)


_INSTRUCTIONS = word_set(
    """follow contact use select click get let make keep check enter create add set run learn review complete submit call
    bring choose remove delete open ensure specify note start stop restart go find apply ask consider remember leave stay
    look turn put"""
)
"""Verbs that open an instruction but are tagged as nouns."""
