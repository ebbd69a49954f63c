"""DyDecomp (Lu et al., 2025), greedy: splits a turn in two while its judge is surer of the parts than of the whole.

The paper trains a policy that decides when to split; here the policy's reward is the rule, without training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vista_guard._extras import require
from vista_guard.errors import JudgeError
from vista_guard.judges import contract
from vista_guard.judges.composed import ensemble
from vista_guard.judges.composed.pipeline import DecomposingJudge
from vista_guard.judges.contract import meter
from vista_guard.judges.decomposers.coverage import DENIAL, invented
from vista_guard.judges.decomposers.steps import load_prompt
from vista_guard.judges.embedded.english.decompose import MAX_STATEMENT
from vista_guard.judges.embedded.english.words import STEM, content_words, word_set
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
"""Maximum depth: at most 32 parts and 31 calls per turn. The paper's claims have up to 2⁴ facts."""
_GLUE = word_set(
    """who whom whose which when where while him them me us my your our both too then so however moreover furthermore
    additionally besides"""
)
"""Words that a split may drop or add, besides articles, pronouns and the like."""


def sureness(answers: Sequence[Check | Unchecked]) -> float:
    """Mean |2p − 1| of the answers, in [0, 1], with p = P(supported); `Unchecked` counts 0.

    Examples:
        >>> claim = Claim(id="t0.c1", text="It is old.")
        >>> round(sureness([Check(claim=claim, supported=True, confidence=0.9), Unchecked(claim=claim, error="?")]), 2)
        0.4
    """
    return sum(abs(2.0 * _support(answer) - 1.0) for answer in answers) / len(answers)


def _support(answer: Check | Unchecked) -> float:
    if isinstance(answer, Unchecked):
        return 0.5
    # Without probabilities: confidence, since 1 − confidence has the same |2p − 1|.
    return answer.confidence if answer.support is None else answer.support


class DyDecomp:
    """Implements `Decomposer`: the whole turn as one claim, without evidence. `around` splits it.

    Args:
        model: splits a statement in two.
        asked: the speakers' names, and a folder with a prompt that replaces the package's own.
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
        """Its prompt."""
        return {"dydecomp": self._prompt.info}

    @property
    def why_exhausted(self) -> str | None:
        return self._model.why_exhausted

    async def aclose(self) -> None:
        """Closes this decomposer's connections."""
        await self._model.aclose()

    def around(self, judge: Judge) -> SplittingJudge:
        """The judge with turns split while that makes it surer."""
        return SplittingJudge(judge, self)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        text = turn.text.strip()
        start = turn.text.find(text)
        span = Span(start=start, end=start + len(text))
        return [Claim(id=f"t{len(history)}.c1", text=text, span=span)] if text else []

    async def split(self, claim: Claim, turn: Turn, history: Sequence[Turn]) -> list[Claim]:
        """Splits a claim in two; empty if it cannot be split, with a warning on failure."""
        try:
            parts = await self._ask(claim, tuple(history))
        except JudgeError as exc:
            meter().warn(f"a claim was judged as it stands, since {self.info.name} could not split it: {exc}")
            return []
        if parts and not _says_same(claim.text, parts, [turn.text, *(past.text for past in history)]):
            meter().warn(f"a claim was judged as it stands, since {self.info.name} split it into something else")
            return []
        return [
            Claim(id=f"{claim.id}.{number}", text=part, span=_place(part, claim.span, turn.text))
            for number, part in enumerate(parts, 1)
        ]

    async def _ask(self, claim: Claim, history: tuple[Turn, ...]) -> list[str]:
        """The model's parts, cached while a turn is being written."""
        known, key = contract.growing().known, ensemble.fingerprint("split", claim.text, history)
        if key not in known:
            known[key] = await ask_trimmed(
                lambda _, recent: ask_model(self._model, self._request(claim, recent), read_parts),
                self._model.name,
                claim.text,
                EvidenceSet(),
                history,
            )
        parts: list[str] = known[key]
        return parts

    def _request(self, claim: Claim, history: Sequence[Turn]) -> ChatRequest:
        style = self._prompt.style
        return self._prompt.request(
            most_tokens=256 + 4 * len(claim.text),
            most_items=2,
            history=style.history(history),
            claim=style.claim(claim),
        )


class SplittingJudge(DecomposingJudge):
    """Implements `TurnJudge`: splits claims, first the whole turn, while the two parts have a greater `sureness`.

    Parts that lose or add words of the claim are unusable: then, and if the model fails, the claim's own verdict stands. A
    judge that is always sure, such as a chat model with confidence 1, splits nothing.
    """

    def __init__(self, judge: Judge, decomposer: DyDecomp) -> None:
        super().__init__(judge, decomposer)
        self._splitting = decomposer

    def over(self, wrap: Callable[[Judge], Judge]) -> SplittingJudge:
        """The same around `wrap` of the inner judge."""
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
        return [_renumber(answer, f"t{len(history)}.c{number}") for number, answer in enumerate(outcomes, 1)]

    async def _parts(
        self, answer: Check | Unchecked, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet, depth: int
    ) -> list[Check | Unchecked]:
        """The answer, or those for the parts that replace its claim."""
        sure = sureness([answer])
        if not depth or sure == 1.0:
            return [answer]
        claims = await self._splitting.split(answer.claim, turn, history)
        parts = await contract.verify(self._judge, claims, evidence)
        if not parts or (sureness(parts) <= sure and not _is_too_long(answer)):
            return [answer]
        deeper = await ensemble.gather(self._parts(part, turn, history, evidence, depth - 1) for part in parts)
        return [outcome for group in deeper for outcome in group]


def _is_too_long(answer: Check | Unchecked) -> bool:
    """True if too long for any verifier: its parts may be readable though they are no surer yet."""
    return isinstance(answer, Unchecked) and len(answer.claim.text) > MAX_STATEMENT


def _renumber(answer: Check | Unchecked, name: str) -> Check | Unchecked:
    claim = answer.claim.model_copy(update={"id": name})
    if isinstance(answer, Unchecked) or answer.finding is None:
        return answer.model_copy(update={"claim": claim})
    return answer.model_copy(update={"claim": claim, "finding": answer.finding.model_copy(update={"claim": claim})})


def _stems(*texts: str) -> frozenset[str]:
    stems = frozenset[str]().union(*map(content_words, texts)) - _GLUE
    return frozenset(word if word[0].isdigit() else word[:STEM] for word in stems if len(word) > 1 or word.isdigit())


def _says_same(whole: str, parts: Sequence[str], around: Sequence[str]) -> bool:
    """True if the parts have all words of the whole, and others only from the text around it."""
    stems, part_stems = _stems(whole), _stems(*parts)
    denials, left = (len(DENIAL.findall(text)) for text in (whole, " ".join(parts)))
    # Denying two things becomes one denial of each.
    denied = left >= denials if denials else not left
    source = "\n".join([whole, *around])
    return denied and stems <= part_stems and not any(invented(part, source) for part in parts)


def _place(part: str, within: Span | None, text: str) -> Span | None:
    """The span of the sentences that mostly share the part's words; else the claim's span."""
    if within is None:
        return None
    wanted = _stems(part)
    sentences = [span for span in sentence_spans(text) if within.start <= span.start and span.end <= within.end]
    stemmed = [(sentence, _stems(text[sentence.start : sentence.end])) for sentence in sentences]
    matching = [candidate for candidate, words in stemmed if 2 * len(words & wanted) > len(words)]
    return Span(start=matching[0].start, end=matching[-1].end) if matching else within
