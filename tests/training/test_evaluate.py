"""The table, through its command line: hand-made sets in a data folder, the shipped judge."""

import gzip
import json
from dataclasses import asdict
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="training only: pip install scikit-learn")

from training.evaluate import main
from training.suites.product import Bench, Product, Target, TaskAnswers, figures, line
from training.suites.tasks import AGREES, CONTRADICTS, threshold
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Check, Claim, EvidenceSet, Passage, SourceKind
from vista_lab.policies.verifiers import ClaimScores

RIVER = "The Halm is a river in the north of the country, and it is 90 kilometres long."
BEGIN = (
    "model_name\tdata_source\tknowledge\tmessage\tresponse\tbegin_label\n"
    f"t5\twow\t{RIVER}\tWhat is the Halm?\tThe Halm is a river.\tFully attributable\n"
    f"t5\twow\t{RIVER}\tHow long is it?\tThe Halm is 90 kilometres long.\tFully attributable\n"
    f"t5\twow\t{RIVER}\tWho paints?\tPablo Picasso was born in Spain.\tNot fully attributable\n"
)
FEVER = {"Ada swims .": "SUPPORTS", "Ada never swims .": "REFUTES", "Rain fell .": "NOT ENOUGH INFO"}


@pytest.fixture(scope="module")
def product() -> Product:
    return Product()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def evaluate(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["evaluate", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_a_broken_set_costs_only_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "begin").mkdir()
    (tmp_path / "begin/begin_dev_wow.tsv").write_text("no\theader\n1\t2\n", encoding="utf-8")
    (tmp_path / "begin/begin_dev_cmu.tsv").write_text(BEGIN, encoding="utf-8")
    copy = tmp_path / "table.md"

    sets = ("begin_dev_wow", "begin_dev_cmu")
    status = evaluate(monkeypatch, "--data", str(tmp_path), "--only", *sets, "--markdown", str(copy))

    table = capsys.readouterr().out
    rows = [[cell.strip() for cell in row.strip("|\n").split("|")] for row in table.splitlines()[2:]]
    assert status == 1
    assert copy.read_text(encoding="utf-8") == table
    missing = f"failed: InputError: {tmp_path}/begin/begin_dev_wow.tsv has no column knowledge"
    assert [(row[0], row[2], row[3].split(",")[0], row[4]) for row in rows] == [
        ("begin_dev_wow", "", missing, ""),
        ("begin_dev_wow", "", missing, ""),
        ("begin_dev_cmu", "3", "supported or not", "1.000"),
        ("begin_dev_cmu", "3", "supported or not", "1.000"),
    ]
    assert {len(row) for row in rows} == {13}


def test_protocols_on_hand_made_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [("I love my dog.", "I do not have a dog.", 0)] * 2 + [("I love my dog.", "My dog is called Rex.", 1)] * 2
    decode = "".join(f"{first}\t{second}\t{label}\n" for first, second, label in pairs)
    write(tmp_path / "train/prosecco/decode_sample.tsv", f"seg1\tseg2\tlabel\n{decode}")
    fever = [{"claim": "Ada swims .", "evidence": [text], "label": label} for text, label in FEVER.items()]
    write(tmp_path / "train/fever/dev.jsonl.gz", "".join(json.dumps(row) + "\n" for row in fever))
    said = {"speakers": ["A", "B", "A"], "annotation_target_pair": [0, 2], "rgm_name": "m"}
    talks = [
        {**said, "utterances": [first, "Oh!", second], "contradictory_label_count": 3 - 3 * label}
        for first, second, label in pairs
    ]
    write(tmp_path / "rgm/a.jsonl", "".join(json.dumps(talk) + "\n" for talk in talks))
    reply = {"prompt": "Who?", "category": "Unsupported requests", "chosen": "Ada Ling.", "rejected": "I don't know."}
    write(tmp_path / "coconot/coconot_pref.jsonl", json.dumps(reply) + "\n")
    passages = {"It is a river.": ["The Halm is a river.", "Rain fell."], "It is long.": []}
    verdicts = {"It is a river.": "supported", "It is long.": "partially supported"}
    facts = (
        json.dumps(
            {"query": "The Halm?", "response": "A long river.", "evidence": passages, "subconclusions": verdicts}
        )
        + "\n"
    )
    write(tmp_path / "bingcheck/bingcheck.jsonl.gz", facts)

    only = ("--only", "rgm", "coconot_pref", "bingcheck")
    status = evaluate(monkeypatch, "--data", str(tmp_path), "--split", "test", "--final", *only)

    rows = [[cell.strip() for cell in row.split("|")] for row in capsys.readouterr().out.splitlines()[2:]]
    assert status == 0
    guarded = "contradiction, own claims through the guard, context=full"
    assert [(row[1], row[3], row[4].split(" (F1")[0]) for row in rows] == [
        ("rgm", "4", "contradiction, four views of the pair"),
        ("rgm", "4", guarded),
        ("rgm", "4", f"{guarded}, the shipped labels"),
        ("coconot_pref", "2", "abstention"),
        ("coconot_pref", "2", "abstention, without incomplete and indeterminate requests"),
        ("coconot_pref", "2", "abstention, held-out half of the requests"),
        (
            "coconot_pref",
            "2",
            "abstention, held-out half of the requests, without incomplete and indeterminate requests",
        ),
        ("coconot_pref", "2", "abstention by any claim"),
        ("bingcheck", "2", "three-way, claims given"),
        ("bingcheck", "2", "three-way, claims given, the shipped labels"),
        ("bingcheck", "2", "supported or not, claims given"),
        ("bingcheck", "1", "three-way, claims given, without the partly supported"),
        ("bingcheck", "1", "three-way, claims given, the shipped labels, without the partly supported"),
        ("bingcheck", "1", "supported or not, claims given, without the partly supported"),
    ]
    assert {row[4].split(" (F1")[0]: row[5] for row in rows if row[3] in {"2", "4"}} == {
        "contradiction, four views of the pair": "1.000",
        guarded: rows[1][5],
        f"{guarded}, the shipped labels": rows[2][5],
        "abstention": "1.000",
        "abstention, without incomplete and indeterminate requests": "1.000",
        "abstention, held-out half of the requests": "1.000",
        "abstention, held-out half of the requests, without incomplete and indeterminate requests": "1.000",
        "abstention by any claim": "1.000",
        "three-way, claims given": "1.000",
        "three-way, claims given, the shipped labels": "1.000",
        "supported or not, claims given": "1.000",
    }


def test_test_files_stay_shut_without_final(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(monkeypatch, "--data", str(tmp_path), "--split", "test") == 2
    assert "add --final" in capsys.readouterr().err


def test_the_figures_of_a_task() -> None:
    answers = TaskAnswers(
        task="two labels",
        gold=["yes", "yes", "yes", "no"],
        found=["yes", "yes", "no", "no"],
        policy="0.5",
        positive="yes",
        scores=[0.9, 0.8, 0.1, 0.3],
        targets=(Target("accuracy", 0.7, 0.8),),
    )
    assert {name: value and round(value, 3) for name, value in asdict(figures(answers)).items()} == {
        "accuracy": 0.75,
        "balanced_accuracy": 0.833,
        "macro_f1": 0.733,
        "f1": 0.8,
        "auc": 0.667,
        "ece": None,
        "majority": 0.75,
    }
    assert line("mine", "dev", answers) == (
        "| mine | dev | 4 | two labels (F1+, AUC: yes) | 0.750 | 0.833 | 0.733 | 0.800 | 0.667 |  | 0.750 "
        "| accuracy ≥ 0.70 met, 0.80 missed | 0.5 |"
    )


async def test_the_judge_that_measures_answers_as_the_shipped_one(product: Product) -> None:
    texts = (
        "The Halm is a river.",
        "The Halm is not a river.",
        "The Halm is 20 kilometres long.",
        "The user loves music.",
    )
    claims = [Claim(id=f"c{number}", text=text) for number, text in enumerate(texts)]
    evidence = EvidenceSet(documents=(Passage(source=SourceKind.DOCUMENT, source_id="d", text=RIVER),))
    shipped = EmbeddedJudge.load(OnnxEmbedder())
    expected = await shipped.verify(claims, evidence)

    checks = await product.judge.verify(claims, evidence)

    assert checks == expected
    assert [check.supported for check in checks if isinstance(check, Check)] == [True, False, False, False]
    assert product.judge.measured["c1"].contradicted > 0.5
    assert product.judge.measured["c3"] == ClaimScores(supported=0.0, contradicted=0.0)


def test_a_limit_takes_rows_from_all_over_the_file(product: Product, tmp_path: Path) -> None:
    assert Bench(product, tmp_path, limit=4).some(range(10)) == [0, 2, 5, 7]
    assert Bench(product, tmp_path).some(range(10), cap=2) == [0, 5]
    assert Bench(product, tmp_path, limit=20).some(range(3)) == [0, 1, 2]


def test_the_threshold_lies_where_the_classes_part() -> None:
    gold = [CONTRADICTS] * 20 + [AGREES] * 80
    scores = [0.6] * 20 + [0.4] * 80
    assert 0.4 < threshold(gold, scores) <= 0.6
