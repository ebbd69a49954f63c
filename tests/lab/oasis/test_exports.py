"""Parts, exports and figures of a set: what is in them, what never is on two sides, and what a bag of words learns."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.lab.oasis.scripted import House, answer_of, houses
from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Label
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS
from vista_lab.oasis.exports import TASK_1, TASK_2, Exporting, export, retriever_pairs
from vista_lab.oasis.gates import certain, changed_words, standing
from vista_lab.oasis.judged import READER, VerifierGates, copied
from vista_lab.oasis.records import GeneratedPair, Passage, Record
from vista_lab.oasis.splits import SetPart, Splitting, divide
from vista_lab.oasis.triplets import settled, shortcuts, twinned, verifier_triplets
from vista_lab.policies.verifiers import read_cases
from vista_lab.runs.folder import MANIFEST, Manifest
from vista_lab.runs.made import EXPORT, RECORDS, GateVerdict, Grade, State, gate_of

pytest.importorskip("lemminflect")
pytest.importorskip("textblob")


def pair_of(house: House) -> tuple[Passage, GeneratedPair]:
    """A scripted house's passage and pair."""
    made = answer_of(house)
    passage = Passage(document=f"{house.name}.txt", first=0, sentences=5, text=house.text)
    pair = GeneratedPair(
        claims=tuple(made["claims"]),
        altered=made["claims"].index(made["altered"]["original"]),
        falsified=made["altered"]["falsified"],
        factual=made["factual"],
        unfactual=made["unfactual"],
    )
    return passage, pair


def records_of(count: int) -> list[Record]:
    """Accepted records of sound houses, every tenth doubtful."""
    found = []
    for number, house in enumerate(houses(count)):
        passage, pair = pair_of(house)
        state, _ = standing(certain(passage, pair, {}))
        assert state is State.ACCEPTED
        doubtful = number % 10 == 9
        found.append(
            Record(
                passage=passage,
                made_by="scripted",
                state=State.DOUBTFUL if doubtful else State.ACCEPTED,
                pair=pair,
                reason="a gate doubts" if doubtful else "",
            )
        )
    return found


def set_of(folder: Path, records: list[Record], gate: str = "none") -> Path:
    """A set on disk."""
    folder.mkdir()
    (folder / RECORDS).write_text("".join(record.model_dump_json() + "\n" for record in records), encoding="utf-8")
    made = {
        "made_by": "vista-guard",
        "system": {"name": "oasis-generate", "judge": {"name": "s", "version": "1"}, "options": {"gate": gate}},
        "rows": None,
        "claims": "given",
        "created": "2026-01-01T00:00:00Z",
    }
    (folder / MANIFEST).write_text(Manifest.model_validate(made).model_dump_json(), encoding="utf-8")
    return folder


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_triplets_are_those_of_the_paper() -> None:
    (record,) = records_of(1)
    pair = record.pair
    assert pair is not None
    found = Counter((one.kind, one.label) for one in verifier_triplets([record]))
    n = len(pair.claims)
    assert found == {
        ("t carries", SUPPORTED_CLASS): n,
        ("F carries", SUPPORTED_CLASS): n,
        ("t contradicts", CONTRADICTED_CLASS): 1,
        ("F contradicts", CONTRADICTED_CLASS): 1,
        ("U carries", SUPPORTED_CLASS): 1,
        ("U contradicts", CONTRADICTED_CLASS): 1,
    }
    more = list(verifier_triplets([record], entailed_by_unfactual=True))
    assert len(more) == sum(found.values()) + n - 1
    own = {(one.claim, one.label) for one in more if one.passage == pair.unfactual}
    assert (pair.falsified, SUPPORTED_CLASS) in own
    assert (pair.original, CONTRADICTED_CLASS) in own


def test_retriever_pairs_join_each_claim_with_all_three_texts() -> None:
    (record,) = records_of(1)
    assert record.pair is not None
    rows = list(retriever_pairs([record]))
    assert len(rows) == 3 * (len(record.pair.claims) + 1)
    assert {row["group"] for row in rows} == {record.passage.id}


class Neutral:
    """Implements `Verifier`: neutral to what stands in another town."""

    name = "neutral"

    def probabilities(self, pairs):  # type: ignore[no-untyped-def]
        import numpy as np

        return np.array([[0.1, 0.1, 0.8] if "far" in text else [0.4, 0.3, 0.3] for text, _ in pairs], np.float32)


def test_neutrals_come_from_windows_that_share_no_sentence() -> None:
    (record,) = records_of(1)

    def window(first: int, text: str) -> Record:
        passage = record.passage.model_copy(update={"first": first, "text": text})
        return record.model_copy(update={"passage": passage})

    beside, near, far = window(3, "so far so near"), window(6, "near"), window(12, "far away")
    found = [
        one
        for one in verifier_triplets([record, beside, near, far], neutrals=Neutral())
        if one.label == NOT_ENOUGH_CLASS and one.twin.startswith(f"{record.passage.id}/")
    ]
    assert {one.passage for one in found} == {"far away"}
    elsewhere = far.passage.model_copy(update={"document": "b.txt", "text": f"far from {record.passage.text}"})
    nearest = list(verifier_triplets([record], [record.passage, elsewhere], Neutral()))
    assert {one.passage for one in nearest if one.label == NOT_ENOUGH_CLASS} == {elsewhere.text}
    only_near = verifier_triplets([record, near], neutrals=Neutral())
    assert not [one for one in only_near if one.label == NOT_ENOUGH_CLASS]


def test_an_export_is_read_as_it_is(tmp_path: Path) -> None:
    ours = set_of(tmp_path / "ours", records_of(200), "shipped")
    with pytest.raises(InputError, match="--doubtful"):  # twenty facts, always falsified alike
        export([ours], tmp_path / "data", Exporting())
    note = export([ours], tmp_path / "data", Exporting(doubtful=True, neutrals=Fixed(0.1, 0.1, 0.8)))
    assert note.gate == "shipped"
    sizes = [note.counts[f"{part}/claim_extraction.jsonl"] for part in SetPart]
    assert sum(sizes) == 200
    assert 0.70 < sizes[0] / (sizes[0] + sizes[1]) < 0.90
    part = tmp_path / "data" / "train"
    assert {case.gold for case in read_cases(part / "pairs.jsonl")} == {"supported", "contradicted", "not_enough"}
    first = lines(part / "claim_extraction.jsonl")[0]
    assert list(first) == ["title", "text", "claims"]
    assert gate_of(part / TASK_2) == "shipped"
    assert gate_of(tmp_path / "other.json") == ""
    assert export([ours], tmp_path / "data", Exporting(doubtful=True)).counts != note.counts


def test_tasks_are_logs_in_the_reference_format(tmp_path: Path) -> None:
    from vista_lab.logs.formats import read_log

    ours = set_of(tmp_path / "ours", records_of(30))
    export([ours], tmp_path / "data", Exporting(Splitting(test=0, validation=0), doubtful=True))
    for name, positive in ((TASK_1, 30), (TASK_2, 30)):
        log = list(read_log(tmp_path / "data" / "train" / name))
        assert len(log) == 60
        assert sum(bool(one.gold[0].positive) for one in log) == positive  # type: ignore[union-attr]
    labels = Counter(label for one in log for label in one.labels.values())  # type: ignore[union-attr]
    assert labels == {Label.VERIFIED: 30, Label.CONTRADICTED: 30}


def test_no_document_is_in_two_parts() -> None:
    records = [
        record.model_copy(update={"passage": record.passage.model_copy(update={"document": f"d{n % 40}", "first": n})})
        for n, record in enumerate(records_of(120))
    ]
    parts = divide(records, Splitting())
    documents = [{record.passage.document for record in held} for held in parts.values()]
    assert all(documents)
    assert sum(map(len, documents)) == len(set.union(*documents))
    with pytest.raises(InputError, match="share sentences"):
        divide(
            [
                record.model_copy(update={"passage": record.passage.model_copy(update={"document": "d", "first": n})})
                for n, record in enumerate(records)
            ],
            Splitting(by="passage"),
        )


def test_wrong_exports_are_told(tmp_path: Path) -> None:
    records = records_of(20)
    doubtful = [record for record in records if record.state is State.DOUBTFUL]
    ours = set_of(tmp_path / "ours", doubtful)
    with pytest.raises(InputError, match="--doubtful"):
        export([ours], tmp_path / "data", Exporting())
    with pytest.raises(InputError, match="cannot be read"):
        export([tmp_path / "none"], tmp_path / "data", Exporting())
    again = set_of(tmp_path / "again", doubtful)
    with pytest.raises(InputError, match="give each set once"):
        export([ours, ours], tmp_path / "data", Exporting(doubtful=True))
    with pytest.raises(InputError, match="both hold passage"):
        export([ours, again], tmp_path / "data", Exporting(doubtful=True))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with pytest.raises(ConfigError, match=r"mine\.txt"):
        export([ours], tmp_path / "full", Exporting(doubtful=True))
    assert not (tmp_path / "full" / EXPORT).exists()
    with pytest.raises(ConfigError, match="split is by 'sentence'"):
        Splitting(by="sentence")


def test_a_set_that_a_bag_of_words_tells_has_no_accepted_pair() -> None:
    pytest.importorskip("sklearn")
    from vista_lab.oasis.shortcuts import CLAIM_LIMIT
    from vista_lab.oasis.statistics import figures

    records = records_of(120)
    found = figures(records)
    assert found.table.passages == 120
    assert found.table.claims_a_passage == 5
    alone = {one.kind: one for one in found.shortcuts}["none"]
    assert alone.fails
    assert alone.claim > CLAIM_LIMIT
    assert found.states == {State.DOUBTFUL: 120}
    assert {one.reason.partition(":")[0] for one in settled(records) if one.reason != "a gate doubts"} == {"shortcuts"}
    assert settled(records[:19]) == records[:19]  # too few to tell


def test_twins_lack_the_same_words_of_their_premise() -> None:
    pytest.importorskip("sklearn")
    from vista_lab.oasis.shortcuts import SETS_LIMIT

    records = records_of(150)
    mates = mates_of(records)
    rows = [one for one in twinned(list(verifier_triplets(records)), mates) if one.twin[-2:] in {"/t", "/F", "/U"}]
    assert len(rows) >= 450
    lacking: dict[tuple[str, str], dict[int, set[str]]] = {}
    for row in rows:
        words = (set(re.findall(r"\w+", text.lower())) for text in (row.claim, row.passage))
        lacking.setdefault((row.twin, row.passage), {})[row.label] = next(words) - next(words)
    assert all(by_label[CONTRADICTED_CLASS] == by_label[SUPPORTED_CLASS] for by_label in lacking.values())
    beside = {one.kind: one for one in shortcuts(records, mates)}
    assert beside["all"].count == 2 * len(records) + len(rows)
    assert {"t", "F", "U"} <= set(beside)
    assert SETS_LIMIT == 0.60


def mates_of(records: list[Record]) -> list[Passage]:
    """For each record, passages with the words that only one of its two claims has."""
    found = []
    for record in records:
        assert record.pair is not None
        old, new = changed_words(record.pair.original, record.pair.falsified)
        texts = {" ".join(old), " ".join(new), " ".join([*old, *new])}
        found += [
            Passage(document=f"mate {text}", first=0, sentences=2, text=f"Elsewhere: {text}") for text in texts if text
        ]
    return found


class Fixed:
    """Implements `Verifier`: the same probabilities for all."""

    name = "fixed"

    def __init__(self, *row: float) -> None:
        self._row = row

    def probabilities(self, pairs):  # type: ignore[no-untyped-def]
        import numpy as np

        return np.array([self._row] * len(pairs), np.float32)


def worst(verdicts: tuple[GateVerdict, ...], gate: str) -> set[Grade]:
    return {one.grade for one in verdicts if one.gate == gate}


def test_a_verifier_that_is_unsure_makes_a_record_doubtful_and_not_rejected() -> None:
    passage, pair = pair_of(houses(1)[0])
    unsure = VerifierGates(Fixed(0.3, 0.3, 0.4)).judge(passage, pair)
    assert standing(unsure)[0] is State.DOUBTFUL
    sure = VerifierGates(Fixed(0.98, 0.01, 0.01)).judge(passage, pair)
    assert worst(sure, "passage-carries-claim") == {Grade.PASSED}
    assert worst(sure, "passage-contradicts-falsified") == {Grade.FAILED}
    against = VerifierGates(Fixed(0.01, 0.98, 0.01)).judge(passage, pair)
    assert worst(against, "passage-contradicts-falsified") == {Grade.PASSED}
    assert worst(against, "factual-carries-claim") == {Grade.FAILED}


def test_limits_say_what_a_verifier_accepts() -> None:
    passage, pair = pair_of(next(house for house in houses(9) if house.wording == "free"))
    careful = Fixed(0.2, 0.1, 0.7)
    assert standing(VerifierGates(careful).judge(passage, pair))[0] is State.DOUBTFUL
    assert standing(VerifierGates(careful, limits=READER).judge(passage, pair))[0] is State.ACCEPTED
    named = Fixed(0.2, 0.1, 0.7)
    named.name = "reader"
    assert standing(VerifierGates(named).judge(passage, pair))[0] is State.ACCEPTED
    unsure = VerifierGates(Fixed(0.05, 0.1, 0.85), limits=READER).judge(passage, pair)
    assert worst(unsure, "factual-carries-claim") == {Grade.DOUBTFUL}
    same = VerifierGates(Fixed(0.96, 0.1, 0.0), limits=READER).judge(passage, pair)
    assert worst(same, "falsified-differs") == worst(same, "unfactual-drops-original") == {Grade.DOUBTFUL}


def test_overlap_is_the_share_of_runs_of_words() -> None:
    assert copied("the old hall opened in 1850", "In spring the old hall opened in 1850 again") == 1.0
    assert copied("the old hall opened in 1850", "the new hall closed in 1850") == 0.0
