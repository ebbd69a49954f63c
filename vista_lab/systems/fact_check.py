"""LLM-OASIS's plain models (§6.2, App. B): one question about a text, answered Factual or Not Factual, with evidence or without.

As in the paper: temperature 0.7, instructions as a system message or before the text for models that know no such role, four
examples without evidence (Table 6) and three with it (Table 7), the 30 nearest passages (§7.1). Texts of the prompts are our
own. Answers are not cut at five tokens, which would cut those of models that think, and no beam search is asked for: endpoints
of chat models have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vista_guard.errors import ConfigError
from vista_guard.judges.model import ChatModel, ChatRequest, Message, ModelOptions
from vista_guard.judges.model.answers.tolerant import unreadable
from vista_guard.judges.model.judge import ask_model
from vista_guard.judges.model.prompt_files import Stage
from vista_guard.judges.model.prompt_files import read as read_prompt
from vista_guard.judges.model.prompts import ask_trimmed
from vista_guard.settings.sources import Limits
from vista_guard.types import Check, Claim, EvidenceSet, Label, Turn
from vista_lab.logs.source import Task
from vista_lab.systems.protocol import POSITIVE, labelled_check
from vista_lab.systems.turn_judges import WholeTurnJudge

if TYPE_CHECKING:
    from vista_lab.systems.recipes import Order

PROMPTS = Path(__file__).parent / "texts" / "fact_check"

RETRIEVED = 30
"""Passages that a text is checked with (§7.1): for the whole text, as 30 of some 100 tokens fill the 4,000 of §7.2."""

DEFAULTS = {"temperature": "0.7", "system_role": "yes"}
"""Options of the systems (App. B)."""

_WITH: Stage = "fused"
_WITHOUT: Stage = "decompose"
"""Stages whose prompts have the slots that are shown here: documents and turn, or the turn alone."""

_WORD = r"(?P<not>not|non|un)?[-\s_]?factual"
_VERDICT = re.compile(
    rf"^\W*(?:(?:final\s+)?(?:answer|output|verdict|result|determination|label)\W+)?{_WORD}[^\w?]*$", re.IGNORECASE
)
_FIRST = re.compile(rf"^[\W_]*{_WORD}[\"'*`_]*\s*[.!\n]", re.IGNORECASE)


def read_verdict(text: str) -> bool | None:
    """True for Factual, False for Not Factual; None where an answer is neither, or both.

    Only a line of its own counts, or the sentence that an answer begins with: "not entirely factual" is neither.

    Examples:
        >>> read_verdict("Not Factual."), read_verdict('Output: "Factual"'), read_verdict("It is factual or not factual.")
        (False, True, None)
    """
    lines = [match for line in text.splitlines() if (match := _VERDICT.match(line))]
    first = _FIRST.match(text)
    verdicts = {match["not"] is None for match in ([first] if first else []) + lines}
    return verdicts.pop() if len(verdicts) == 1 else None


class FactCheck(WholeTurnJudge):
    """Asks a model whether the whole turn is factual.

    `evidence` says whether it is shown documents, `system_role` whether instructions are a system message.
    """

    def __init__(self, model: ChatModel, options: ModelOptions, *, evidence: bool, system_role: bool) -> None:
        self._evidence = evidence
        self._system_role = system_role
        path, stage = (PROMPTS / "evidence.txt", _WITH) if evidence else (PROMPTS / "plain.txt", _WITHOUT)
        file = read_prompt(path, stage, examples=True)
        super().__init__(model, options, file, f"fact-check{'+evidence' * evidence}", system_role)

    async def _judged(self, claim: Claim, evidence: EvidenceSet) -> Check:
        visible = EvidenceSet(documents=evidence.documents if self._evidence else ())

        async def ask(trimmed: EvidenceSet, _: Sequence[Turn]) -> bool:
            return await ask_model(self._model, self._request(claim, trimmed), _read)

        factual = await ask_trimmed(ask, self._model.name, claim.text, visible, ())
        label = Label.VERIFIED if factual else POSITIVE[Task.UNVERIFIABLE]
        return labelled_check(claim, label, f"the judge called the text {'Factual' if factual else 'Not Factual'}")

    def _request(self, claim: Claim, evidence: EvidenceSet) -> ChatRequest:
        text = self._input(claim, evidence)
        if self._system_role:
            return ChatRequest((Message("system", self._system), Message("user", text)), "turn")
        return ChatRequest((Message("user", f"{self._system}\n\n{text}"),), "turn")


def _read(text: str) -> bool:
    verdict = read_verdict(text)
    if verdict is None:
        raise unreadable("is neither Factual nor Not Factual", text)
    return verdict


def fact_check_limits(order: Order) -> Mapping[str, Any]:
    """The guard's limits, with `RETRIEVED` passages where the settings have the default."""
    limits, usual = order.settings.limits, Limits()
    names = ("retrieved", "passages")
    changed = {name: RETRIEVED for name in names if getattr(limits, name) == getattr(usual, name)}
    return {"limits": limits.model_copy(update=changed)}


def read_options(name: str, options: Mapping[str, str]) -> tuple[float, bool]:
    """Temperature, and whether there is a system message. Raises ConfigError if an option's value is invalid."""
    values = {**DEFAULTS, **options}
    try:
        temperature = float(values["temperature"])
    except ValueError:
        temperature = -1.0
    if not 0 <= temperature <= 2:
        raise ConfigError(f"option temperature of system {name} is {values['temperature']!r}; it must lie in [0, 2]")
    if values["system_role"] not in ("yes", "no"):
        raise ConfigError(f"option system_role of system {name} is {values['system_role']!r}; give yes or no")
    return temperature, values["system_role"] == "yes"
