"""A script for the chat server that answers vista-guard's own prompts as a model would that is always right."""

from __future__ import annotations

import html
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vista_guard.testing.doubles import Verdict
from vista_guard.testing.script import ReceivedRequest
from vista_guard.types import Label

Verdicts = Mapping[str, Sequence[Verdict]]
_STAGES = ("decompose", "verify", "categorize", "judge", "fused", "turn")
_CHOICE = re.compile(r'"(\w+)": "(\w+)" or "(\w+)"')
_SENTENCE = re.compile(r"\S.*?[.!?](?=\s|$)|\S.*?$", re.DOTALL)


def judge_script(verdicts: Verdicts) -> Callable[[ReceivedRequest], str]:
    """Answers the stages decompose, verify, categorize, judge and fused from the verdicts on the turns with these texts.

    The stage is read off the name of the JSON schema (`vista_verify`, `verify`), else off the words of the prompt. The
    turn and the claims are found by their texts in the last user message; of claims with the same words the first verdict
    counts. `Verdict.needs` is looked for in what stands before the claim there. A verdict with an `error` is answered with
    that text, which says nothing about the claim, and in the stage judge with nothing.

    A request about a turn or a claim outside the script raises LookupError; the server then rejects the call.
    """
    claims: dict[str, Verdict] = {}
    for verdict in (verdict for given in verdicts.values() for verdict in given):
        claims.setdefault(_plain(verdict.text), verdict)
    return _Oracle({_plain(text): given for text, given in verdicts.items()}, claims).answer


def gold_script(
    gold: Mapping[str, Label], *, accuracy: float = 1.0, seed: int = 0, positive: Label = Label.LACKING_EVIDENCE
) -> Callable[[ReceivedRequest], str]:
    """Answers as a model would that is right about whole turns at this rate: what a run measures must then be `accuracy`.

        gold = {"The tower is 38 metres high.": Label.VERIFIED, "It opened in 1890.": Label.LACKING_EVIDENCE}
        server = ScriptedChatServer(gold_script(gold, accuracy=0.8))

    It answers the stages as `judge_script` does, a claim for each sentence of the turn, the last of which makes the turn what it
    is; turns that are split into sentences; and `turn`, one verdict on a whole turn, whose two words it finds in the prompt.
    Which turns it is wrong about depends on `seed` and their texts alone, so that every system that asks it measures the same.

    Args:
        gold: by the turns' texts, VERIFIED, or any other label for a turn that is looked for. No sentence stands in two turns.
        accuracy: share of turns that it is right about, in [0, 1]; each turn is drawn by itself.
        seed: of the draw.
        positive: what it says of a turn that it takes for one by mistake.

    Raises:
        ValueError: an accuracy that is no share, or a sentence that stands in two turns.
    """
    told = {text: _answered(label, positive, accuracy, seed, text) for text, label in gold.items()}
    claims = {text: _sentences(text, label) for text, label in told.items()}
    ((twice, count),) = Counter(one.text for given in claims.values() for one in given).most_common(1) or [("", 0)]
    if count > 1:
        raise ValueError(f"the sentence {twice!r} stands in two turns; the script could not tell which is asked about")
    alone = {one.text: [one] for given in claims.values() for one in given}
    judge, whole = judge_script({**alone, **claims}), {_plain(text): label for text, label in told.items()}

    def answer(request: ReceivedRequest) -> str:
        return _whole_turn(request, whole) if _stage(request) == "turn" else judge(request)

    return answer


def _answered(label: Label, positive: Label, accuracy: float, seed: int, text: str) -> Label:
    """What is said of a turn."""
    if not 0.0 <= accuracy <= 1.0:
        raise ValueError(f"accuracy is {accuracy}; it must lie in [0, 1]")
    is_right = random.Random(f"{seed}\x1f{text}").random() < accuracy
    return label if is_right else (positive if label is Label.VERIFIED else Label.VERIFIED)


def _sentences(text: str, label: Label) -> list[Verdict]:
    *before, last = [Verdict(found.group()) for found in _SENTENCE.finditer(text)]
    return [*before, replace(last, label=label)]


def _whole_turn(request: ReceivedRequest, told: Mapping[str, Label]) -> str:
    """One verdict: the first of the two words that the prompt offers where the turn is as it should be, else the second."""
    choice = _CHOICE.search(request.text)
    asked = _plain(request.user)
    ends = {text: asked.rfind(text) + len(text) for text in told if text in asked}
    if choice is None or not ends:
        raise LookupError(
            f"no verdict on a scripted turn is asked for in the user message, which ends {asked[-200:]!r}"
        )
    name, negative, positive = choice.groups()
    label = told[max(ends, key=lambda text: (ends[text], len(text)))]
    return _told(**{name: negative if label is Label.VERIFIED else positive}, explanation=f"scripted as {label}")


@dataclass(frozen=True)
class _Claim:
    verdict: Verdict
    id: str
    before: str

    @property
    def label(self) -> Label:
        verdict = self.verdict
        if verdict.needs is None:
            return verdict.label
        if _plain(verdict.needs) in self.before:
            return Label.VERIFIED
        return Label.LACKING_EVIDENCE if verdict.label is Label.VERIFIED else verdict.label

    def judgement(self) -> dict[str, str]:
        label = self.label
        reason = "" if label is Label.VERIFIED else f"scripted as {label}"
        return {"reason": reason, "quote": self.verdict.quote or "", "label": self.verdict.error or label}


@dataclass(frozen=True)
class _Oracle:
    verdicts: Verdicts
    claims: Mapping[str, Verdict]

    def answer(self, request: ReceivedRequest) -> str:
        asked, stage = _plain(request.user), _stage(request)
        match stage:
            case "decompose":
                turn = self._turn(asked)
                return _told(claims=[_claim_in(turn, verdict) for verdict in self.verdicts[turn]])
            case "fused":
                return self._fused(asked)
            case "judge":
                claims = [claim for claim in self._claims(asked) if claim.verdict.error is None]
                return _told(answers=[{"id": claim.id, **claim.judgement()} for claim in claims])
            case "verify":
                claim = self._claims(asked)[-1]
                label = "VERIFIED" if claim.label is Label.VERIFIED else "UNVERIFIABLE"
                return claim.verdict.error or _told(quote=claim.verdict.quote or "", label=label)
        claim = self._claims(asked)[-1]
        label = Label.LACKING_EVIDENCE if claim.label is Label.VERIFIED else claim.label
        told = {"reason": f"scripted as {label}", "quote": claim.verdict.quote or "", "label": label}
        return claim.verdict.error or _told(**told)

    def _fused(self, asked: str) -> str:
        turn = self._turn(asked)
        before = asked[: asked.rindex(turn)]
        claims = []
        for verdict in self.verdicts[turn]:
            told = _Claim(verdict, "", before).judgement()
            shown = {"reason": told["reason"], "evidence": told["quote"], "label": told["label"]}
            claims.append({**_claim_in(turn, verdict), **shown})
        return _told(claims=claims)

    def _turn(self, asked: str) -> str:
        """The scripted turn that stands last: earlier ones may stand in the history."""
        ends = {text: asked.rfind(text) + len(text) for text in self.verdicts if text in asked}
        if not ends:
            raise LookupError(f"no scripted turn stands in the user message, which ends {asked[-200:]!r}")
        return max(ends, key=lambda text: (ends[text], len(text)))

    def _claims(self, asked: str) -> list[_Claim]:
        """The scripted claims in the message, each where it stands last, in order; those with an id if any has one."""
        present = sorted((text for text in self.claims if text in asked), key=len, reverse=True)
        if not present:
            raise LookupError(f"no scripted claim stands in the user message, which ends {asked[-200:]!r}")
        # The longest first: a claim may begin with the words of another.
        last = {found[0]: found.start() for found in re.finditer("|".join(map(re.escape, present)), asked)}
        found = [(start, self.claims[text]) for text, start in sorted(last.items(), key=lambda place: place[1])]
        ids = [_id_before(asked, start) for start, _ in found]
        first = next((start for (start, _), given in zip(found, ids, strict=True) if given), found[0][0])
        return [
            _Claim(verdict, given or f"c{number}", asked[: first if given else start])
            for number, ((start, verdict), given) in enumerate(zip(found, ids, strict=True), 1)
            if given or not any(ids)
        ]


def _id_before(asked: str, start: int) -> str | None:
    """The `c3` that announces the claim at this place: `c3: …`, `[c3] …`, `<claim id="c3">…`."""
    found = re.search(r"(?<!\w)(c\d+)[^\w.?!]{1,12}$", asked[max(0, start - 20) : start])
    return found[1] if found else None


def _claim_in(turn: str, verdict: Verdict) -> dict[str, str]:
    return {"claim": verdict.text, "quote": verdict.text if _plain(verdict.text) in turn else ""}


def _stage(request: ReceivedRequest) -> str:
    name = (request.schema_name or "").removeprefix("vista_")
    if name in _STAGES:
        return name
    text = request.text
    if '"explanation"' in text:
        return "turn"
    if '"answers"' in text:
        return "judge"
    if '"claims"' in text:
        return "fused" if '"label"' in text else "decompose"
    if "UNVERIFIABLE" in text.upper():
        return "verify"
    return "categorize" if "CONTRADICTED" in text.upper() else "decompose"


def _plain(text: str) -> str:
    """Without differences in white space and escaping: prompts may fence what they quote."""
    return " ".join(html.unescape(text).split())


def _told(**content: Any) -> str:
    return json.dumps(content)
