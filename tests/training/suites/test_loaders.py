"""Small files of our own in each publisher's format."""

import gzip
import json
from pathlib import Path

from tests.raising import raises
from training.suites import evalsets
from training.suites.loaders import (
    CONTRADICTED,
    NOT_ENOUGH,
    PARTLY,
    SUPPORTED,
    GivenStatement,
    begin,
    bingcheck,
    coconot,
    decode,
    dialfact,
    fever,
    held_out,
    kqa,
    rgm,
)
from vista_guard.errors import InputError
from vista_guard.types import Document, Role, Turn
from vista_lab.datasets.sets.coconot import Reply
from vista_lab.datasets.sets.rgm import SpeakerPair


def user(text: str) -> Turn:
    return Turn(role=Role.USER, text=text)


def assistant(text: str) -> Turn:
    return Turn(role=Role.ASSISTANT, text=text)


def lines(path: Path, *rows: object) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def test_begin(tmp_path: Path) -> None:
    file = tmp_path / "begin.tsv"
    file.write_text(
        "model_name\tdata_source\tknowledge\tmessage\tresponse\tbegin_label\n"
        't5\twow\tThe "Halm" is a river.\tWhat is the Halm?\tIt is a "river\tFully attributable\n'
        "t5\twow\tOslo is a city.\t\tIt has ten bridges.\tNot fully attributable\n"
        "t5\twow\tOslo is a city.\tHi\tHow nice!\tGeneric\n",
        encoding="utf-8",
    )
    river, city = (Document(id="e1", text=text) for text in ('The "Halm" is a river.', "Oslo is a city."))
    assert begin(file) == [
        GivenStatement('It is a "river', (river,), SUPPORTED, (user("What is the Halm?"),)),
        GivenStatement("It has ten bridges.", (city,), NOT_ENOUGH),
        GivenStatement("How nice!", (city,), NOT_ENOUGH, (user("Hi"),)),
    ]
    assert evalsets.begin(file) == evalsets.Claims(
        evidence=['The "Halm" is a river.', "Oslo is a city.", "Oslo is a city."],
        texts=['It is a "river', "It has ten bridges.", "How nice!"],
        gold=["supported", "unsupported", "unsupported"],
        turns=[0, 1, 2],
    )


def test_a_suite_judges_no_part_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "begin.tsv"
    file.write_text("knowledge\tmessage\tresponse\tbegin_label\nA.\tHi\tYes.\tPartly\n", encoding="utf-8")
    with raises(InputError, "begin.tsv", "1", "begin_label", "Partly"):
        begin(file)


def test_vista(tmp_path: Path) -> None:
    file = tmp_path / "human.json"
    claims = [
        {"claim_text": "The Halm is a river.", "human_judgement": "verifiable"},
        {"claim_text": "It is lovely.", "human_judgement": "out of scope"},
    ]
    told = {"role": "assistant", "utterance": "A lovely river.", "retrieved_document": "The Halm, a river.\nIt flows."}
    known = {"human_claims": claims, "original_dataset_label": "hallucinated", "conversation_id": 3, "dataset": "AIS"}
    file.write_text(json.dumps([[{"role": "user", "utterance": "The Halm?"}, {**told, **known}]]), encoding="utf-8")
    document = "The Halm, a river.\nIt flows."
    assert evalsets.vista(file) == evalsets.Claims(
        evidence=[document, document],
        texts=["The Halm is a river.", "It is lovely."],
        gold=["VERIFIED", "OUT_OF_SCOPE"],
        turns=[0, 0],
    )


def test_fever(tmp_path: Path) -> None:
    row = {"id": 7, "claim": "The Halm flows .", "evidence": ["Halm is a river .", "It flows ."], "label": "SUPPORTS"}
    file = lines(tmp_path / "dev.jsonl.gz", row, {**row, "label": "REFUTES"}, {**row, "label": "NOT ENOUGH INFO"})
    document = Document(id="e1", text="Halm is a river. It flows.")
    assert fever(file) == [
        GivenStatement("The Halm flows.", (document,), g) for g in (SUPPORTED, CONTRADICTED, NOT_ENOUGH)
    ]


def test_dialfact(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "test.jsonl",
        {
            "context": ["Do you swim ?", "Yes , often .", "Where ?"],
            "response": "In the Halm .",
            "evidence_list": [
                ["Halm_River", "https://example.org", "It is a river .", "3"],
                ["Oslo", "https://example.org", "A city .", "1", "gt_evidence_added"],
            ],
            "response_label": "NOT ENOUGH INFO",
            "type_label": "personal",
        },
    )
    assert dialfact(file) == [
        GivenStatement(
            "In the Halm.",
            (
                Document(id="e1", title="Halm River", text="It is a river."),
                Document(id="e2", title="Oslo", text="A city."),
            ),
            NOT_ENOUGH,
            (user("Do you swim?"), assistant("Yes, often."), user("Where?")),
        )
    ]


def test_kqa(tmp_path: Path) -> None:
    file = tmp_path / "nli.csv"
    file.write_text(
        ",Question,llm_x,answer,claim,category_x,majority_label,label_0,label_1,label_2\n"
        '0,Is rest good?,bard,"Yes, rest is good.",Rest helps.,Must_have,Entailment,a,b,c\n',
        encoding="utf-8",
    )
    answer = Document(id="e1", text="Yes, rest is good.")
    assert kqa(file) == [GivenStatement("Rest helps.", (answer,), SUPPORTED, (user("Is rest good?"),))]


def test_bingcheck_reads_each_sub_claim_with_its_own_evidence(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "bingcheck.jsonl.gz",
        {
            "id": "1",
            "query": "Tell me of the Halm.",
            "response": "It is a river. It is long. It is old.",
            "subclaims": ["It is a river.", "It is long.", "It is old."],
            "evidence": {"It is a river.": ["The Halm, a river.", " ", "A bridge."], "It is long.": []},
            "subconclusions": {
                "It is a river.": "partially supported",
                "It is long.": "not supported",
                "It is old.": "refuted",
            },
        },
    )
    asked = (user("Tell me of the Halm."),)
    passages = (Document(id="e1", text="The Halm, a river."), Document(id="e3", text="A bridge."))
    assert bingcheck(file) == [
        GivenStatement("It is a river.", passages, PARTLY, asked),
        GivenStatement("It is long.", (), NOT_ENOUGH, asked),
        GivenStatement("It is old.", (), CONTRADICTED, asked),
    ]


def test_rgm_makes_the_judged_speaker_the_assistant_and_ends_with_the_later_utterance(tmp_path: Path) -> None:
    said = {
        "utterances": ["I swim.", "Nice!", "I never swim.", "Oh?"],
        "speakers": ["A", "B", "A", "B"],
        "rgm_name": "m",
    }
    lines(tmp_path / "rgm" / "b.jsonl", {**said, "annotation_target_pair": [0, 2], "contradictory_label_count": 2})
    lines(tmp_path / "rgm" / "a.jsonl", {**said, "annotation_target_pair": [1, 3], "contradictory_label_count": 1})
    assert rgm(tmp_path / "rgm") == [
        SpeakerPair((user("I swim."), assistant("Nice!"), user("I never swim."), assistant("Oh?")), 1, False),
        SpeakerPair((assistant("I swim."), user("Nice!"), assistant("I never swim.")), 0, True),
    ]


def test_decode(tmp_path: Path) -> None:
    file = tmp_path / "decode.tsv"
    file.write_text('seg1\tseg2\tlabel\nI swim.\tI "never swim.\t0\nI swim.\tI run.\t1\n', encoding="utf-8")
    assert decode(file) == [
        SpeakerPair((assistant("I swim."), assistant('I "never swim.')), 0, True),
        SpeakerPair((assistant("I swim."), assistant("I run.")), 0, False),
    ]


def test_coconot_reads_the_preference_file_and_the_training_file(tmp_path: Path) -> None:
    pref = lines(
        tmp_path / "pref.jsonl",
        {"prompt": "Who?", "category": "Unsupported requests", "chosen": "Ada.", "rejected": "I cannot say."},
    )

    def talk(answer: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": answer}]

    train = lines(
        tmp_path / "train.jsonl",
        {"prompt": "Who?", "prompt_id": "presupposition_contrast_3", "chosen": talk("Ada."), "rejected": talk("No.")},
        {"prompt": "Who?", "prompt_id": "privacy_contrast_9", "chosen": talk("Ada."), "rejected": talk("No.")},
    )
    assert coconot(pref) == [
        Reply("Who?", "Ada.", False, "Unsupported requests"),
        Reply("Who?", "I cannot say.", True, "Unsupported requests"),
    ]
    assert [(reply.answer, reply.refuses, reply.category) for reply in coconot(train)] == [
        ("Ada.", False, "Incomplete requests"),
        ("No.", True, "Incomplete requests"),
        ("Ada.", False, "Requests with safety concerns"),
        ("No.", True, "Requests with safety concerns"),
    ]


def test_the_held_out_half_of_the_requests_does_not_hang_on_case_or_space() -> None:
    requests = [f"How do I cook dish {number}?" for number in range(200)]
    halves = [held_out(request) for request in requests]
    assert halves == [held_out(f"  {request.upper()}\n") for request in requests]
    assert 70 < sum(halves) < 130
