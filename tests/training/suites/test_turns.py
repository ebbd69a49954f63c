"""Summaries and small talk through the guard, and what every preset does with turns that were judged once."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

from tests.raising import raises
from training.suites import remarks, summaries
from training.suites.faithful import WITHOUT_RISK, action, policies
from vista_guard import Action, Guard, InputError, Label
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

RISK = TurnRisk(source="made up", intercept=-3.0, worst=6.0, flag=0.5, block=0.99)


def guard(said: dict[str, list[Verdict]]) -> Guard:
    return Guard(ScriptedJudge(said), "monitor", knowledge=MemoryKnowledge(WordEmbedder()))


def write_summaries(data: Path, count: int) -> None:
    """Of each domain so many documents, each with a summary that is true to it and one that is not."""
    folder = data / "train" / "summedits"
    folder.mkdir(parents=True)
    for domain in summaries.DOMAINS:
        rows = [
            {
                "doc": f"In {domain} week {n} the mill ground {n} tons.",
                "summary": f"{told} {n} {domain}",
                "label": label,
            }
            for n in range(count)
            for told, label in (("The mill ground", 1), ("The bakery ground", 0))
        ]
        (folder / f"summedits_{domain}.json.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))


def test_summaries_are_told_apart_by_what_is_held_against_them(tmp_path: Path) -> None:
    write_summaries(tmp_path, 3)
    found = list(summaries.read(tmp_path))
    assert [one.consistent for one in found] == [True, False] * 6
    said = {
        one.text: [Verdict(one.text, *((Label.VERIFIED, 0.9) if one.consistent else (Label.CONTRADICTED, 0.9)))]
        for one in found
    }
    judged = asyncio.run(summaries.judge(guard(said), found))
    lines = list(summaries.table(judged, policies(None)["balanced"]))
    all_right = "100.0 % (100.0–100.0)"
    assert lines[0] == "| balanced accuracy | podcast | ectsum | both |"
    assert lines[2] == f"| the turn's risk, threshold cross-validated | {all_right} | {all_right} | {all_right} |"
    assert lines[5] == f"| any claim held against it | {all_right} | {all_right} | {all_right} |"
    assert lines[7] == "| AUC: the turn's risk | 100.0 | 100.0 | 100.0 |"


def test_too_few_documents_for_a_threshold_leave_a_dash(tmp_path: Path) -> None:
    write_summaries(tmp_path, 1)
    found = list(summaries.read(tmp_path))
    judged = asyncio.run(summaries.judge(guard({one.text: [] for one in found}), found))
    lines = list(summaries.table(judged, policies(None)["balanced"]))
    assert lines[2] == "| the turn's risk, threshold cross-validated | – | – | 50.0 % (50.0–50.0) |"


def test_the_baseline_counts_words_that_the_document_lacks() -> None:
    one = summaries.SummaryCase("podcast", "The mill ground 12 tons.", "The bakery ground 13 tons", True)
    assert one.unheard == 2 / 4


def test_a_file_that_is_no_summedits_is_named(tmp_path: Path) -> None:
    write_summaries(tmp_path, 1)
    path = tmp_path / "train" / "summedits" / "summedits_podcast.json.gz"
    path.write_bytes(gzip.compress(b'[{"doc": "d"}]'))
    with raises(InputError, "summedits_podcast.json.gz", "1", "summary"):
        list(summaries.read(tmp_path))


def test_responses_belong_to_kinds_by_what_experts_said(tmp_path: Path) -> None:
    audit = tmp_path / remarks.AUDIT / "gold"
    audit.mkdir(parents=True)
    rows = (
        'Mills grind .,hi,Ok,generic,"ack.,confirmation"',
        "Mills grind .,hi,I like mills .,hallucination,Disclosure",
        "Mills grind .,hi,Mills grind .,entailment,edification",
        'Mills grind .,hi,Mills burn .,hallucination,"edification,ack."',
    )
    (audit / "wow.csv").write_text("\n".join(("evidence,history,response,BEGIN,VRM", *rows)) + "\n", encoding="utf-8")
    begin = tmp_path / remarks.BEGIN
    begin.parent.mkdir()
    begin.write_text("knowledge\tmessage\tresponse\tbegin_label\nMills grind.\thi\tSure.\tGeneric\n", encoding="utf-8")
    assert [(one.text, set(one.kinds)) for one in remarks.read(tmp_path)] == [
        ("Ok", {remarks.GENERIC, remarks.REMARK}),
        ("I like mills.", {remarks.REMARK}),
        ("Mills grind.", {remarks.ENTAILED}),
        ("Sure.", {remarks.GENERIC_BEGIN}),
    ]


def test_presets_weigh_a_report_again_as_a_guard_of_their_own_would() -> None:
    text = "The mill ground 13 tons."
    one = summaries.SummaryCase("podcast", "The mill ground 12 tons.", text, False)
    verdicts = {text: [Verdict(text, Label.LACKING_EVIDENCE, 0.7)]}
    report = asyncio.run(guard(verdicts).acheck(one.conversation))
    calm = report.model_copy(update={"risk": 0.2})
    found = {name: action(calm, policy) for name, policy in policies(RISK).items()}
    assert found == {
        "monitor": Action.ALLOW,
        "balanced": Action.ALLOW,
        "strict": Action.REPAIR,
        WITHOUT_RISK: Action.FLAG,
    }
