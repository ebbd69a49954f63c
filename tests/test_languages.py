"""German, French, Spanish, Chinese and Arabic on every way in: a model judges, sentences are cut, nothing false goes out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.blocked import ROOT
from tests.dashboard.browser import chromium
from tests.proxy.serving import chunks, document, proxy, said
from tests.raising import raises
from vista_guard import Action, ConfigError, Document, Guard, JudgeError, Label, TurnReport
from vista_guard.cli.render import _STYLE as VERIFIED_STYLE
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.reading.canonical import folded
from vista_guard.reading.passages import sentence_spans
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stream.boundaries import Sentences
from vista_guard.testing import ScriptedChatServer, Verdict, assistant, conversation, judge_script, user
from vista_lab.dialogues.tables.answers import _STYLE as ANSWERS_STYLE


@dataclass(frozen=True)
class Spoken:
    """A language's sentences: `true` and `unknown` may go out, `false` must not; `word` must stand in the document for `true`."""

    name: str
    true: str
    unknown: str
    false: str
    word: str
    between: str = " "

    @property
    def turn(self) -> str:
        return self.between.join((self.true, self.unknown, self.false))


LANGUAGES = {
    "de": Spoken(
        "German",
        "Das Museum wurde am 3. Oktober 1990 von Dr. Weber eröffnet und zeigt z. B. Funde aus dem 19. Jahrhundert.",
        "Was die Karte kostet, weiß ich leider nicht.",
        "Die Halle ist 12,5 Meter hoch!",
        "3. Oktober 1990",
    ),
    "fr": Spoken(
        "French",
        "Le musée a ouvert le 3 octobre 1990 sous M. Weber ; l'entrée coûte 4,50 € !",
        "Je ne sais pas s'il est ouvert le 1er mai.",
        "La salle mesure 12,5 m de haut.",
        "4,50 €",
    ),
    "es": Spoken(
        "Spanish",
        "¡El Sr. Weber abrió el museo el 3 de octubre de 1990 y la entrada cuesta 4,50 euros!",
        "¿Abre los domingos? No lo sé.",
        "La sala mide 12,5 metros de alto.",
        "4,50 euros",
    ),
    "zh": Spoken(
        "Chinese",
        "博物馆于1990年10月3日开馆，门票价格为４.５０欧元！",
        "我不知道周日是否免费。",
        "“大厅高12.5米。”",
        "1990年10月3日",
        between="",
    ),
    "ar": Spoken(
        "Arabic",
        "افتُتح المتحف في ٣ أكتوبر ١٩٩٠، وسعر التذكرة ٤٫٥٠ يورو.",
        "لا أعرف هل الدخول مجاني يوم الأحد؟",
        "ارتفاع القاعة ١٢٫٥ مترًا.",
        "٣ أكتوبر ١٩٩٠",
    ),
}
MARKS = ".!?。！？؟“”¡ "
EACH = pytest.mark.parametrize("spoken", LANGUAGES.values(), ids=LANGUAGES)


def parts(spoken: Spoken) -> list[str]:
    """The sentences as they are cut: a question and its answer are two."""
    return [spoken.turn[span.start : span.end] for span in sentence_spans(spoken.turn)]


def verdicts(spoken: Spoken) -> list[Verdict]:
    """One for each sentence of the turn."""
    given = {
        spoken.true: Verdict(spoken.true, needs=spoken.word, quote=spoken.word),
        spoken.false: Verdict(spoken.false, Label.CONTRADICTED, confidence=0.99),
    }
    return [given.get(part, Verdict(part, Label.ABSTENTION)) for part in parts(spoken)]


def judging(spoken: Spoken) -> ScriptedChatServer:
    """A model that judges the turn, whole or as far as it has come."""
    found = verdicts(spoken)
    upto = [spoken.turn[: span.end] for span in sentence_spans(spoken.turn)]
    return ScriptedChatServer(judge_script({text: found[:number] for number, text in enumerate(upto, 1)}))


def talk(spoken: Spoken, *, said: bool = True) -> tuple[object, ...]:
    return (user("?"), assistant(spoken.turn, spoken.true)) if said else (user("?"),)


@EACH
def test_a_turn_is_cut_into_its_sentences_whole_and_as_it_grows(spoken: Spoken) -> None:
    assert {spoken.true, spoken.false} <= set(parts(spoken))
    growing = Sentences(10_000)
    for end in range(1, len(spoken.turn) + 1):
        growing.grow(spoken.turn[:end])
    growing.grow(spoken.turn, complete=True)
    starts = [0, *growing.ends]
    assert [spoken.turn[start:end].strip() for start, end in zip(starts, growing.ends, strict=False)] == parts(spoken)


@EACH
def test_check(spoken: Spoken) -> None:
    with judging(spoken) as server, Guard.from_settings(judge=f"openai:m@{server.base_url}", store="memory") as guard:
        report = guard.check(conversation(*talk(spoken)))  # type: ignore[arg-type]
        server.assert_accepted()
    assert report.decision.action is Action.BLOCK
    spans = [finding.claim.span for finding in report.findings]
    said = [spoken.turn[span.start : span.end].strip(MARKS) for span in spans if span]
    assert said == [part.strip(MARKS) for part in parts(spoken)]
    assert [finding.label for finding in report.findings] == [verdict.label for verdict in verdicts(spoken)]
    assert report.findings[0].evidence[0].quote == spoken.word


@EACH
async def test_a_stream_lets_out_each_sentence_that_holds(spoken: Spoken) -> None:
    async def deltas() -> AsyncIterator[str]:
        for letter in spoken.turn:
            yield letter

    asked = conversation(*talk(spoken, said=False))  # type: ignore[arg-type]
    with judging(spoken) as server, Guard.from_settings(judge=f"openai:m@{server.base_url}", store="memory") as guard:
        async with aclosing(guard.gated(asked, deltas(), documents=spoken.true)) as stream:
            *pieces, report = [piece async for piece in stream]
    assert isinstance(report, TurnReport)
    assert report.decision.action is Action.BLOCK
    out = "".join(piece for piece in pieces if isinstance(piece, str))
    assert out.startswith(spoken.true)
    assert spoken.false not in out
    assert out.endswith(MESSAGE)


@EACH
def test_the_proxy(spoken: Spoken) -> None:
    script = {verdict.text: [verdict] for verdict in verdicts(spoken)}
    asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "?"}]}
    with ScriptedChatServer(lambda _: spoken.turn) as upstream, proxy(upstream, script=script) as served:
        response = served.post("/v1/chat/completions", {**asked, "documents": [document(spoken.true)]})
    text = said(chunks(response))
    assert text.startswith(spoken.true)
    assert (spoken.false in text, text.endswith(MESSAGE)) == (False, True)


@EACH
async def test_the_embedded_judge_names_what_it_does_not_read(spoken: Spoken) -> None:
    judge = EmbeddedJudge.load(OnnxEmbedder())
    with raises(JudgeError, spoken.name):
        await judge.decompose(assistant(spoken.turn), ())


class Reader:
    """Stands in for a multilingual verifier: it supports what stands in the evidence, and contradicts `false`."""

    name = "reader"

    def __init__(self, false: str) -> None:
        self.false = false

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        rows = [
            (0.98, 0.01, 0.01)
            if claim in folded(evidence)
            else (0.01, 0.98 * (claim == self.false), 0.98 * (claim != self.false))
            for evidence, claim in pairs
        ]
        return np.array(rows, np.float32)


@EACH
def test_the_embedded_judge_with_a_multilingual_verifier(spoken: Spoken) -> None:
    document = Document(id="d", text=spoken.true)
    with Guard.from_settings(
        verifier=Reader(folded(spoken.false)), verifier_options={"multilingual": True}, store="memory"
    ) as guard:
        report = guard.check_answer(spoken.turn, documents=[document])
    labels = {
        spoken.turn[one.claim.span.start : one.claim.span.end]: one.label for one in report.findings if one.claim.span
    }
    assert [*labels] == parts(spoken)
    assert (labels[spoken.true], labels[spoken.false]) == (Label.VERIFIED, Label.CONTRADICTED)
    assert report.decision.action is Action.BLOCK
    assert report.unchecked == ()


def test_the_shipped_verifier_is_not_multilingual() -> None:
    for named in (None, "shipped"):
        with raises(ConfigError, "verifier_options.multilingual", "verifier"):
            Guard.from_settings(verifier=named, verifier_options={"multilingual": True}, store="memory")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Er kam am 3. März. Sie auch.", 2),
        ("Im 2. Weltkrieg war er zu. Seit dem 21. Jahrhundert ist er offen.", 2),
        ("Die Zahl ist 3. Sie stimmt.", 2),
        ("It opened in 1925. April is busy.", 2),
        ("Version 1.3. Oktober folgt.", 2),
        ("入場料は４．５０ユーロ、または４.５０ユーロです。本当です。", 2),
    ],
)
def test_a_number_ends_no_sentence(text: str, count: int) -> None:
    assert len(sentence_spans(text)) == count


_SHEETS = {
    "verified texts": VERIFIED_STYLE,
    "answers": ANSWERS_STYLE,
    "policies": (ROOT / "vista_lab/policies/page.css").read_text("utf-8"),
    "dashboard": (ROOT / "vista_guard/dashboard/elements/tree.css").read_text("utf-8"),
}
_BESIDE = """text => {
    document.body.firstChild.textContent = text;
    const range = document.createRange();
    range.selectNodeContents(document.body.firstChild);
    const line = range.getBoundingClientRect(), room = document.body.firstChild.getBoundingClientRect();
    return [line.left - room.left, room.right - line.right];
}"""


def test_arabic_stands_on_the_right_of_every_page_and_german_on_the_left() -> None:
    with chromium() as browser:
        page = browser.new_page()
        for style in _SHEETS.values():
            page.set_content(f"<!doctype html><style>{style}</style><body><p class=text></p>")
            arabic, german = (page.evaluate(_BESIDE, LANGUAGES[one].false) for one in ("ar", "de"))
            assert arabic[0] > 100 > arabic[1] >= 0
            assert german[1] > 100 > german[0] >= 0
