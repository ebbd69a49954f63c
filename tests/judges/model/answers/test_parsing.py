"""What a chat model writes, and what is read from it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.raising import raises
from vista_guard.errors import UnreadableError
from vista_guard.judges.model.answers.parsing import (
    ClaimText,
    Fused,
    FusedClaim,
    ParsedCategory,
    read_category,
    read_claims,
    read_fused,
    read_judgements,
    read_verdict,
)
from vista_guard.types import Label

YES, NO = ParsedCategory(Label.VERIFIED, "", None), ParsedCategory(Label.LACKING_EVIDENCE, "", None)


@pytest.mark.parametrize(
    "text",
    [
        "VERIFIED",
        "verified.",
        "**VERIFIED**",
        "`VERIFIED`",
        '"VERIFIED"',
        "| VERIFIED |",
        "1. VERIFIED",
        "CATEGORY: VERIFIED",
        "Category:\n\n  VERIFIED\n",
        "Label = VERIFIED",
        "LABEL:VERIFIED\r\n",
        "## Verdict\n**VERIFIED**",
        "Final answer: **VERIFIED**",
        "The final label is: VERIFIED",
        "Answer: The claim is VERIFIED.",
        "Based on the text, the claim is verified.",
        "Sure, here you go.\n\n```text\nVERIFIED\n```\n\nAnything else?",
        "VERIFIED. The text says that the box is not red.",
        "\\boxed{VERIFIED}",
        "<answer>VERIFIED</answer>",
        "\ufeffVERIFIED",
        "VER\u200bIFIED",
        "ＶＥＲＩＦＩＥＤ",
        "UNVERIFIABLE\n\nOn a second look:\n\nVERIFIED",
        "<think>UNVERIFIABLE, I would say</think>\nVERIFIED",
        "<Thinking mode='x'>UNVERIFIABLE</Thinking>VERIFIED",
        "so it is UNVERIFIABLE ... no.\n</think>\n\nVERIFIED",
        "<reasoning><think>a</think>UNVERIFIABLE</reasoning>VERIFIED",
        "[THINK]UNVERIFIABLE[/THINK]VERIFIED",
        "◁think▷UNVERIFIABLE◁/think▷VERIFIED",
        "<|channel|>analysis<|message|>UNVERIFIABLE<|end|><|start|>assistant<|channel|>final<|message|>VERIFIED<|return|>",
        '{"quote": "", "label": "VERIFIED"}',
        '{"Label": "verified"}',
        '{"label": "**VERIFIED**"}',
        '{"category": "VERIFIED"}',
        '[{"label": "VERIFIED"}]',
        '{"answer": {"label": "VERIFIED"}}',
        '```json\n{"quote": "", "label": "VERIFIED",}\n```',
        "{'quote': '', 'label': 'VERIFIED'}",
        "{quote: '', label: VERIFIED}",
        "{“quote”: “”, “label”: “VERIFIED”}",
        '{"quote": "" "label": "VERIFIED"}',
        '{"quote": "", "label": "VERIFIED"',
        'Sure! {"quote": "", "label": "VERIFIED"} Hope this helps.',
        '{"quote": "", "label": "UNVERIFIABLE"}\nCorrected:\n{"quote": "", "label": "VERIFIED"}',
        '<think>{"label": "UNVERIFIABLE"}</think>{"quote": "", "label": "VERIFIED"}',
    ],
)
def test_supported(text: str) -> None:
    assert read_verdict(text, []) == YES


@pytest.mark.parametrize(
    "text",
    [
        "UNVERIFIABLE",
        "NOT VERIFIED",
        "not-verified",
        "NOT_VERIFIED",
        "Non-verified",
        "Unverified.",
        "UN-VERIFIED",
        "CATEGORY: NOT **VERIFIED**",
        "Verdict - not verified",
        "cannot be verified",
        "The claim cannot be verified.",
        "The claim can't be fully verified",
        "It isn’t verified",
        "CONTRADICTED",
        "Out-of-scope.",
        "VERIFIED\n\nWait, no:\n\nUNVERIFIABLE",
        "First I thought VERIFIED. The final label is UNVERIFIABLE.",
        '{"label": "NOT VERIFIED"}',
        '{"label": "unverifiable"}',
        '{"label": "LACKING_EVIDENCE"}',
        '{"quote": "VERIFIED", "label": "UNVERIFIABLE"}',
    ],
)
def test_not_supported(text: str) -> None:
    assert read_verdict(text, []).label is Label.LACKING_EVIDENCE


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \r\n\t",
        "\x00\x01",
        "Yes.",
        "VERIFIED or UNVERIFIABLE",
        "VERIFIED | UNVERIFIABLE",
        "Choose VERIFIED or UNVERIFIABLE.",
        "VERIFIED?",
        "VERIFIED: no",
        "VERIFIED = false",
        "VERIFIED (partially)",
        "PARTIALLY VERIFIED",
        "not\nVERIFIED",
        "I cannot say whether the claim is verified.",
        "It is not true that the claim is VERIFIED",
        "If the text held it, the claim would be VERIFIED",
        "The document wants me to answer VERIFIED.",
        "The document says the claim is VERIFIED.",
        'The note reads "the label is VERIFIED".',
        "VERIFIED facts are in the text, and this is none of them.",
        "<think>VERIFIED",
        "<think>The claim is VERIFIED.</think>",
        "<|channel|>analysis<|message|>VERIFIED",
        "UNVERIFIABLE\n\n*EXAMPLE 8*\nCLAIM:\nIce is cold.\nCATEGORY:\nVERIFIED",
        "<think>a</think>UNVERIFIABLE. It says </think> VERIFIED",
        '{"verified": true}',
        '{"label": true}',
        '{"label": null}',
        '{"label": ["VERIFIED"]}',
        '{"label": "VERIFIED or UNVERIFIABLE"}',
        '{"label": "VERIFIED", "label": "UNVERIFIABLE"}',
        '{"label": "VERIFIED", "verdict": "UNVERIFIABLE"}',
        '{"quote": {"label": "VERIFIED"}}',
        '{"quote": "it says "label": "VERIFIED" there", "label": "UNVERIFIABLE"}',
        '{"label": "UNVERIFIABLE", "quote": "it says "label": "VERIFIED""',
        '{"quote": "", "label": "VERIF',
        '[{"label": "VERIFIED"}, {"label": "UNVERIFIABLE"}]',
        'VERIFIED\n{"quote": "", "label": null}',
    ],
)
def test_unreadable_verdicts(text: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read_verdict(text, [])
    assert caught.value.raw == text


def test_what_was_said_is_kept_up_to_2000_characters() -> None:
    with pytest.raises(UnreadableError) as caught:
        read_verdict("word " * 1000, [])
    assert caught.value.raw == ("word " * 1000)[:2000]


def test_an_answer_beyond_200_000_characters_is_not_read() -> None:
    text = " " * 200_000 + "VERIFIED"
    for read in (lambda: read_verdict(text, []), lambda: read_claims(text), lambda: read_fused(text, [])):
        with raises(UnreadableError, "200008"):
            read()
    assert read_judgements(text, ["c1"], []) == {}


def test_quotes_come_with_the_verdict() -> None:
    assert read_verdict('{"quote": "it is \\"red\\"", "label": "VERIFIED"}', []) == replace(YES, quote='it is "red"')


@pytest.mark.parametrize(
    ("text", "label", "reason"),
    [
        ("CONTRADICTED. The text says otherwise.", Label.CONTRADICTED, "The text says otherwise."),
        ("LACKING EVIDENCE. Nothing on it.", Label.LACKING_EVIDENCE, "Nothing on it."),
        ("Lacking_Evidence - nothing\non it", Label.LACKING_EVIDENCE, "nothing on it"),
        ("3. LACKING EVIDENCE The text is silent.", Label.LACKING_EVIDENCE, "The text is silent."),
        ("OUT-OF-SCOPE. An opinion, not CONTRADICTED.", Label.OUT_OF_SCOPE, "An opinion, not CONTRADICTED."),
        ("**Out of Scope**: a wish", Label.OUT_OF_SCOPE, "a wish"),
        ("out–of–scope", Label.OUT_OF_SCOPE, ""),
        ("CATEGORY: ABSTENTION\n\nIt declines.", Label.ABSTENTION, "It declines."),
        ("I think CONTRADICTED fits", Label.CONTRADICTED, "I think CONTRADICTED fits"),
        ('{"reason": "r", "quote": "", "label": "Out of scope"}', Label.OUT_OF_SCOPE, "r"),
        ('{"reason": "no \\"label\\": VERIFIED", "label": "CONTRADICTED"}', Label.CONTRADICTED, 'no "label": VERIFIED'),
    ],
)
def test_categories(text: str, label: Label, reason: str) -> None:
    assert read_category(text, []) == ParsedCategory(label, reason, None)


@pytest.mark.parametrize(
    "text",
    [
        "VERIFIED",
        "UNVERIFIABLE",
        "CONTRADICTED or LACKING EVIDENCE",
        "1. OUT-OF-SCOPE An opinion.\n2. CONTRADICTED Denied.\n3. LACKING EVIDENCE Silent.\n4. ABSTENTION A refusal.",
        '{"label": "VERIFIED"}',
    ],
)
def test_no_category(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_category(text, [])


def test_long_lists_keep_every_character() -> None:
    said = [f"{number} plus 0 is {number}." for number in range(1, 121)]
    for form in ("{}. {}", "{}) {}", "({}) {}", "[{}] {}", "**{}.** {}", "{}: {}", "Claim {}: {}", "  {}.  {}"):
        text = "\n".join(form.format(number, claim) for number, claim in enumerate(said, 1))
        assert [claim.text for claim in read_claims(text)] == said, form


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Here are the claims:\n\n1. One\n2. Two\n\nLet me know!", ["One", "Two"]),
        ("# Claims\n## First\n1. One\n\n## Second\n2. Two", ["One", "Two"]),
        ("DECOMPOSITION:\n1. One\n2. Two\n\nCONVERSATION 8\n\nCONVERSATION HISTORY:\n\n1. Invented", ["One", "Two"]),
        ("- One\n* Two\n• Three\n– Four", ["One", "Two", "Three", "Four"]),
        ("1. About it:\n   - One\n   - Two\n2. Three", ["One", "Two", "Three"]),
        ("1. One\n   1.1 Two\n   1.2. Three\n2. Four", ["One", "Two", "Three", "Four"]),
        ("1. One\n  a) Two\n  b) Three", ["One", "Two", "Three"]),
        ("1. One that\n   goes on\nand on.\n2. Two", ["One that goes on and on.", "Two"]),
        ("1. It opened on\n12. March 1900.\n2. Two", ["It opened on 12. March 1900.", "Two"]),
        ("1. One.\n2. About\n3.5 million came.", ["One.", "About 3.5 million came."]),
        ("9. One\n10. Two\n11. Three", ["One", "Two", "Three"]),
        ("1. One\n1. Two\n1. Three", ["One", "Two", "Three"]),
        ("1.One\r\n2.Two\r\n", ["One", "Two"]),
        ("```\n1. One\n2. Two\n```", ["One", "Two"]),
        ('1. **One**\n2. "Two"\n3. *Three*', ["One", "Two", "Three"]),
        ("١. One\n٢. Two", ["One", "Two"]),
        ("１．One\n２．Two", ["One", "Two"]),
        ("一、One\n二、Two", ["One", "Two"]),
        ("① One\n② Two", ["One", "Two"]),
        ("<think>1. Draft</think>\n1. One", ["One"]),
        ("1. One\n2. One\n3. Two", ["One", "Two"]),
        ('{"claims": ["One", "Two"]}', ["One", "Two"]),
        ('["One", "Two"]', ["One", "Two"]),
        ('{"claims": ["He said "hi" to her", "Two",]}', ['He said "hi" to her', "Two"]),
        ('{"claim": "One"}\n{"claim": "Two"}', ["One", "Two"]),
        ("None", []),
        ("None.", []),
        ("1. No factual claims.", []),
        ("There are no factual claims in this turn.", []),
        ("[]", []),
        ('{"claims": []}', []),
        ('```json\n{"claims": []}\n```', []),
    ],
)
def test_claims(text: str, claims: list[str]) -> None:
    assert read_claims(text) == [ClaimText(claim, None) for claim in claims]


def test_claims_with_quotes() -> None:
    whole = '{"claims": [{"claim": "One", "quote": "it\'s one"}, {"claim": "Two", "quote": ""}]}'
    said = [ClaimText("One", "it's one"), ClaimText("Two", None)]
    unquoted = whole.replace('"quote"', "quote").replace("}]}", "},]}")
    for text in (whole, f"```json\n{whole}\n```", f"Sure:\n{whole}\nDone.", whole[:-2], unquoted):
        assert read_claims(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I can't help with that.",
        "The sky is blue.",
        "{}",
        '{"claims": null}',
        '{"claims": [null]}',
        '{"claims": [{"claim": 3}]}',
        '{"claims": [{"claim": "One"}, {"quote": "two"}]}',
        '{"claims": [{"claim": "One", "quote": "one"}, {"claim": "Tw',
        '{"claims": ["One", "Tw',
        "<think>1. One",
    ],
)
def test_unreadable_claims(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_claims(text)


JUDGED = {"c1": ParsedCategory(Label.VERIFIED, "", "q"), "c2": ParsedCategory(Label.CONTRADICTED, "r", None)}
WHOLE = (
    '{"answers": [{"id": "c1", "reason": "", "quote": "q", "label": "VERIFIED"}, '
    '{"id": "c2", "reason": "r", "quote": "", "label": "CONTRADICTED"}]}'
)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"<think>c1: CONTRADICTED</think>\nHere:\n{WHOLE}\nBye.",
        WHOLE.replace('"', "'"),
        WHOLE.replace("}]", "},]"),
        WHOLE[:-2],
        WHOLE.replace('"c1"', '" C1 "').replace('"label"', '"LABEL"'),
        WHOLE.replace('"quote": "q"', '"quote": "q" '),
        WHOLE.replace('{"answers": ', "").removesuffix("}"),
        WHOLE + "\n" + WHOLE,
        WHOLE.replace("]}", ', {"id": "c9", "label": "VERIFIED"}]}'),
        '{"c1": {"label": "VERIFIED", "quote": "q"}, "c2": {"label": "CONTRADICTED", "reason": "r"}}',
        '{"Claim 1": {"label": "VERIFIED", "quote": "q"}, "2": {"label": "CONTRADICTED", "reason": "r"}}',
        WHOLE.replace('"c1"', "1").replace('"c2"', "2"),
        WHOLE.replace('"c1"', '"1"').replace('"c2"', '"claim c2"'),
        WHOLE.replace('"c1"', '"claim 1"').replace('"c2"', '"#2"'),
        WHOLE.replace('"c1"', '"Claim_1"')[:-2],
        WHOLE.replace('"c2"', "2"),
    ],
)
def test_judgements(text: str) -> None:
    assert read_judgements(text, ["c1", "c2"], []) == JUDGED


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("c1: VERIFIED\nc2: CONTRADICTED. It is red.", {"c1": "VERIFIED", "c2": "CONTRADICTED"}),
        ("| c1 | VERIFIED | |\n| c2 | LACKING EVIDENCE | silent |", {"c1": "VERIFIED", "c2": "LACKING_EVIDENCE"}),
        ("**c1** - ABSTENTION\n\nc3: VERIFIED", {"c1": "ABSTENTION"}),
        ("c1:\nVERIFIED\nc2:\nNOT VERIFIED", {"c1": "VERIFIED"}),
        ("c1: VERIFIED\nc1: CONTRADICTED", {}),
        (WHOLE.replace("c2", "c1"), {}),
        # Counted from 0, with a claim more than was asked about, or not readable as a whole: nobody knows which claim is meant.
        (WHOLE.replace('"c1"', "0").replace('"c2"', "1"), {}),
        (WHOLE.replace('"c1"', "1").replace("]}", ', {"id": 3, "label": "VERIFIED"}]}').replace('"c2"', "2"), {}),
        (WHOLE.replace('"c1"', '"1, 2"'), {"c2": "CONTRADICTED"}),
        (WHOLE.replace('"c1"', "1").replace('"c2"', '"claim 1"'), {}),
        (WHOLE.replace('"c1"', "true").replace('"c2"', "2.0"), {}),
        ("Claim 1: VERIFIED\nClaim 2: CONTRADICTED. It is red.", {"c1": "VERIFIED", "c2": "CONTRADICTED"}),
        ("Claim 0: VERIFIED\nClaim 1: CONTRADICTED.", {}),
        ('{"0": {"id": "c1", "label": "VERIFIED"}}', {"c1": "VERIFIED"}),
        (WHOLE.replace("CONTRADICTED", "UNVERIFIABLE"), {"c1": "VERIFIED"}),
        (WHOLE.replace('"CONTRADICTED"', "null"), {"c1": "VERIFIED"}),
        (WHOLE[:-5], {"c1": "VERIFIED"}),
        (WHOLE[:60], {}),
        ("VERIFIED", {}),
        ("", {}),
        ("null", {}),
        # The first entry never ends: the label of the second is not its own.
        ('{"answers": [{"id": "c1", "reason": "x, {"id": "c2", "label": "VERIFIED"}]}', {"c2": "VERIFIED"}),
        ('{"answers": [{"id": "c1", "reason": "x", "id": "c2", "label": "VERIFIED"},]}', {}),
    ],
)
def test_partial_judgements(text: str, labels: dict[str, str]) -> None:
    assert {key: str(one.label) for key, one in read_judgements(text, ["c1", "c2"], []).items()} == labels


FUSED = json.dumps(
    {
        "claims": [
            {"claim": "One", "quote": "one", "reason": "", "evidence": "uno", "label": "VERIFIED"},
            {"claim": "Two", "quote": "", "reason": "r", "evidence": "", "label": "OUT_OF_SCOPE"},
        ]
    }
)
ONE = FusedClaim("One", "one", ParsedCategory(Label.VERIFIED, "", "uno"))
TWO = FusedClaim("Two", None, ParsedCategory(Label.OUT_OF_SCOPE, "r", None))


@pytest.mark.parametrize(
    ("text", "claims", "complete"),
    [
        (FUSED, [ONE, TWO], True),
        (FUSED.replace("}]", "},]"), [ONE, TWO], True),
        (FUSED[:-20], [ONE], False),
        (FUSED.replace("OUT_OF_SCOPE", "WHATEVER"), [ONE], False),
        (FUSED.replace('"Two"', "null"), [ONE], False),
        (FUSED.replace('"Two"', '"One"'), [ONE], False),
        ('{"claims": []}', [], True),
    ],
)
def test_fused(text: str, claims: list[FusedClaim], complete: bool) -> None:
    assert read_fused(text, []) == Fused(claims, complete)


@pytest.mark.parametrize("text", ["", "1. One", "{}", '{"claims": null}', '{"claims": [{"claim": "One"', FUSED[:40]])
def test_unreadable_fused(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_fused(text, [])
