"""DyDecomp (Lu et al., 2025), greedy: a turn is split in two while its judge becomes surer of the parts than of the whole.

The paper trains a policy that decides when to split; here the policy's reward is the rule, and nothing is learned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from vista_guard._extras import require
from vista_guard.errors import JudgeError
from vista_guard.judges import contract
from vista_guard.judges.composed import ensemble
from vista_guard.judges.composed.pipeline import DecomposingJudge
from vista_guard.judges.contract import meter
from vista_guard.judges.decomposers.sentences import invented
from vista_guard.judges.decomposers.steps import load_prompt
from vista_guard.judges.embedded.english.decompose import MAX_STATEMENT
from vista_guard.judges.embedded.english.words import content_words, word_set
from vista_guard.judges.model.answers.parsing import read_parts
from vista_guard.judges.model.chat.calling import ChatModel, ChatRequest
from vista_guard.judges.model.judge import ask_model
from vista_guard.judges.model.prompt_files import Stage
from vista_guard.judges.model.prompts import PromptInfo, ask_trimmed, digest
from vista_guard.protocols import Judge
from vista_guard.reading.passages import sentence_spans
from vista_guard.settings.model import MODEL_DEFAULTS, ModelOptions
from vista_guard.types import Check, Claim, EvidenceSet, JudgeInfo, Span, Turn, Unchecked

DEEPEST = 5
"""Splits above a part: at most 32 parts and 31 calls a turn. The claims of the paper have up to 2⁴ facts."""
_STEM = 5
"""Letters of a word that must come back, so that "opened" may become "opening"."""
_GLUE = word_set(
    """who whom whose which when where while him them me us my your our both too then so however moreover furthermore
    additionally besides"""
)
"""Words that a split may take away or add, besides articles, pronouns and the like."""
_DENIAL = re.compile(r"\b(?:not|no|never|none|neither|nor|cannot|without)\b|n['’]t\b", re.IGNORECASE)


def sureness(answers: Sequence[Check | Unchecked]) -> float:
    """Mean |2p − 1| of the answers, in [0, 1], with p = P(supported); what could not be judged counts 0.

    Examples:
        >>> claim = Claim(id="t0.c1", text="It is old.")
        >>> round(sureness([Check(claim=claim, supported=True, confidence=0.9), Unchecked(claim=claim, error="?")]), 2)
        0.4
    """
    return sum(abs(2.0 * _support(answer) - 1.0) for answer in answers) / len(answers)


def _support(one: Check | Unchecked) -> float:
    if isinstance(one, Unchecked):
        return 0.5
    # Of judges without probabilities; 1 − confidence of what is not supported has the same |2p − 1|.
    return one.confidence if one.support is None else one.support


class DyDecomp:
    """Implements `Decomposer`: the whole turn as one claim, as far as no evidence is in sight. `around` splits it.

    Args:
        model: splits a statement in two.
        asked: names the speakers, and a folder with a prompt in place of the package's own.
    """

    def __init__(self, model: ChatModel, asked: ModelOptions = MODEL_DEFAULTS) -> None:
        require("a decomposer that asks a model", "json_repair", extra="model")
        self._model = model
        self._prompt = load_prompt("dydecomp", asked)

    @property
    def info(self) -> JudgeInfo:
        shaping = digest(self._prompt.info.fingerprint, dict(self._model.parameters))
        return JudgeInfo(name=f"dydecomp:{self._model.name}", version=shaping)

    @property
    def prompts(self) -> Mapping[Stage, PromptInfo]:
        """The prompt that it asks with."""
        return {"dydecomp": self._prompt.info}

    @property
    def why_exhausted(self) -> str | None:
        return self._model.why_exhausted

    async def aclose(self) -> None:
        """Closes the connections that were opened for this decomposer."""
        await self._model.aclose()

    def around(self, judge: Judge) -> SplittingJudge:
        """The judge with its turns split as far as it becomes surer of them."""
        return SplittingJudge(judge, self)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        text = turn.text.strip()
        start = turn.text.find(text)
        span = Span(start=start, end=start + len(text))
        return [Claim(id=f"t{len(history)}.c1", text=text, span=span)] if text else []

    async def split(self, claim: Claim, turn: Turn, history: Sequence[Turn]) -> list[Claim]:
        """Two claims that say together what `claim` says; none where it cannot be split, with a warning if that is a failure."""
        try:
            parts = await self._ask(claim, tuple(history))
        except JudgeError as exc:
            meter().warn(f"a claim was judged as it stands, since {self.info.name} could not split it: {exc}")
            return []
        if parts and not _same(claim.text, parts, [turn.text, *(past.text for past in history)]):
            meter().warn(f"a claim was judged as it stands, since {self.info.name} split it into something else")
            return []
        return [
            Claim(id=f"{claim.id}.{number}", text=part, span=_place(part, claim.span, turn.text))
            for number, part in enumerate(parts, 1)
        ]

    async def _ask(self, claim: Claim, history: tuple[Turn, ...]) -> list[str]:
        """The model's parts; those of an earlier call while a turn is being written."""
        known, key = contract.growing().known, ensemble.fingerprint("split", claim.text, history)
        if key not in known:
            known[key] = await ask_trimmed(
                lambda _, kept: ask_model(self._model, self._request(claim, kept), read_parts),
                self._model.name,
                claim.text,
                EvidenceSet(),
                history,
            )
        parts: list[str] = known[key]
        return parts

    def _request(self, claim: Claim, history: Sequence[Turn]) -> ChatRequest:
        style = self._prompt.style
        return self._prompt.request(history=style.history(history), claim=style.claim(claim))


class SplittingJudge(DecomposingJudge):
    """Implements `TurnJudge`: a claim, first the whole turn, gives way to its two parts where `sureness` of them is greater.

    What the parts lose or add to the claim's words makes them unusable: then, and where the model fails, the claim's own verdict
    stands. A judge that is always sure, as a chat model with its confidence of 1, has nothing split.
    """

    def __init__(self, judge: Judge, decomposer: DyDecomp) -> None:
        super().__init__(judge, decomposer)
        self._splitting = decomposer

    def over(self, wrap: Callable[[Judge], Judge]) -> SplittingJudge:
        """The same around another judge: `wrap` is given this one's."""
        return SplittingJudge(wrap(self._judge), self._splitting)

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked]:
        """Verdicts on the parts, in the turn's order; ids `t{turn index}.c{n}`."""
        whole = await self.decompose(turn, history)
        outcomes = [
            part
            for answer in await contract.verify(self._judge, whole, evidence)
            for part in await self._parts(answer, turn, history, evidence, DEEPEST)
        ]
        return [_numbered(answer, f"t{len(history)}.c{number}") for number, answer in enumerate(outcomes, 1)]

    async def _parts(
        self, answer: Check | Unchecked, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet, depth: int
    ) -> list[Check | Unchecked]:
        """The answer alone, or those about the parts that its claim gives way to."""
        sure = sureness([answer])
        if not depth or sure == 1.0:
            return [answer]
        claims = await self._splitting.split(answer.claim, turn, history)
        parts = await contract.verify(self._judge, claims, evidence)
        if not parts or (sureness(parts) <= sure and not _is_too_long(answer)):
            return [answer]
        deeper = await ensemble.together(self._parts(part, turn, history, evidence, depth - 1) for part in parts)
        return [one for some in deeper for one in some]


def _is_too_long(answer: Check | Unchecked) -> bool:
    """True for what no verifier read whole: its parts may be read though they are no surer yet."""
    return isinstance(answer, Unchecked) and len(answer.claim.text) > MAX_STATEMENT


def _numbered(answer: Check | Unchecked, name: str) -> Check | Unchecked:
    claim = answer.claim.model_copy(update={"id": name})
    if isinstance(answer, Unchecked) or answer.finding is None:
        return answer.model_copy(update={"claim": claim})
    return answer.model_copy(update={"claim": claim, "finding": answer.finding.model_copy(update={"claim": claim})})


def _stems(*texts: str) -> frozenset[str]:
    stems = frozenset[str]().union(*map(content_words, texts)) - _GLUE
    return frozenset(word if word[0].isdigit() else word[:_STEM] for word in stems if len(word) > 1 or word.isdigit())


def _same(whole: str, parts: Sequence[str], around: Sequence[str]) -> bool:
    """True if the parts have all words of the whole, and no others but such as stand around it."""
    stems, kept = _stems(whole), _stems(*parts)
    denials, left = (len(_DENIAL.findall(text)) for text in (whole, " ".join(parts)))
    # A denial of two things is one of each.
    denied = left >= denials if denials else not left
    source = "\n".join([whole, *around])
    return denied and stems <= kept and not any(invented(part, source) for part in parts)


def _place(part: str, within: Span | None, text: str) -> Span | None:
    """The sentences within the claim's span whose words are mostly the part's; the claim's span where there are none."""
    if within is None:
        return None
    wanted = _stems(part)
    sentences = [span for span in sentence_spans(text) if within.start <= span.start and span.end <= within.end]
    read = [(sentence, _stems(text[sentence.start : sentence.end])) for sentence in sentences]
    own = [one for one, said in read if 2 * len(said & wanted) > len(said)]
    return Span(start=own[0].start, end=own[-1].end) if own else within
