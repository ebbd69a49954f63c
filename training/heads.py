"""Train the claim-type head on the shipped embedder: ``python -m training.heads --data DIR --out DIR``.

``heads.npz``: ``type_words`` [w] strings, ``type_W1`` [384 + w, h], ``type_b1`` [h], ``type_W2`` [h, 3], ``type_b2`` [3],
float32. The probabilities of factual, opinion and abstention are ``softmax(relu(x @ W1 + b1) @ W2 + b2)``, where ``x`` is
the claim's embedding followed by a 1 or a 0 for each word: in the claim or not.
"""

from __future__ import annotations

import argparse
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from training import augment, claim_texts, plain_texts
from training.data import TRAIN_FILES, data_argument
from training.sources import answers, mtragun, written
from training.suites.loaders import FeverClaim, faithdial_rows, read_fever, read_jsonl
from vista_guard.inference.onnx import Encoder
from vista_guard.judges.embedded.english import cues
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.embedded.models import word_features
from vista_guard.types import Role, Turn
from vista_lab.datasets.sets.mtrag import ANSWERABLE
from vista_lab.oasis.rewriters.polarity import negate
from vista_lab.training.export import update_judge

FACTUAL, OPINION, ABSTENTION = range(3)
PASSES, WORD_SCALE = 25, 0.2
PLAIN_FACTS, PLAIN_OPINIONS = 2500, 3000
"""Sentences about things that can be counted, priced and timed; each is learnt from three times."""
WRITTEN, DENIALS, REVIEWS, REMARKS = 12000, 2000, 700, 6
"""Claims in other words that a text decides, more of them that deny something, review sentences with a word of value, and how
often each remark is learnt from."""
_DENIES = re.compile(r"\b(?:not|cannot|no|never|nobody|nothing|unable)\b|n['’]t\b", re.IGNORECASE)
_VRM = {
    "edification": FACTUAL, "disclosure": OPINION, "advisement": OPINION, "ack.": OPINION, "acknowledgment": OPINION,
    "question": OPINION,
}  # fmt: skip


def fever_texts(claims: Sequence[FeverClaim], rng: random.Random, count: int) -> list[tuple[str, int]]:
    """FEVER claims as facts, one in seven reported by or thought by somebody."""
    frames = "I think ", "The assistant said that ", "The wizard thinks that ", "I believe ", "According to the user, "
    picked = [c.claim for c in rng.sample(claims, count)]
    texts = [rng.choice(frames) + text if rng.random() < 0.14 else text for text in picked]
    return [(text.lower() if rng.random() < 0.2 else text, FACTUAL) for text in texts]


def faithdial_texts(data: Path) -> list[tuple[str, int]]:
    """Audited responses with one VRM act: edification informs, disclosure and advisement do not."""
    files = [data / name for name in TRAIN_FILES if "faithdial" in name]
    marked = [(text, _VRM.get(vrm.strip().lower())) for file in files for _, text, _, vrm in faithdial_rows(file)]
    return [(text, kind) for text, kind in marked if kind is not None and text]


def written_texts(data: Path, rng: random.Random) -> list[tuple[str, int]]:
    """Claims that a document decides are facts whoever is spoken to, "You may bring your dog" among them, and so are denials of
    what answers state: "The user cannot configure the policy."

    That a document does not give something abstains. Denials and abstentions as they read once they are decomposed ("I" is "the
    assistant").
    """
    pairs = list(written.written(data, "train"))
    silent = {pair.hypothesis for pair in pairs if pair.kind == "written_a"}
    claims = sorted({pair.hypothesis for pair in pairs} - silent)
    facts = rng.sample(claims, min(WRITTEN, len(claims)))
    denials = [claim for claim in claims if _DENIES.search(claim) and not claim.startswith("Q:")]
    answers_told = (turn for turn in mtragun.turns(data) if turn.kind == ANSWERABLE)
    denied = filter(None, (negate(sentence) for turn in answers_told for sentence in mtragun.statements(turn)))
    facts += decomposed([*rng.sample(denials, min(DENIALS, len(denials))), *denied])
    return [(text, FACTUAL) for text in facts] + [
        (text, ABSTENTION) for text in decomposed(form for text in silent for form in (text, _in_full(text)))
    ]


def decomposed(texts: Iterable[str]) -> list[str]:
    """The claims of an assistant's turns of these texts, each once."""
    turns = (Turn(role=Role.ASSISTANT, text=text) for text in sorted(set(texts)))
    return [claim.text for turn in turns for claim in decompose(turn, ())]


def _in_full(text: str) -> str:
    """A text without its contractions."""
    for short, full in (
        ("can't", "cannot"),
        ("won't", "will not"),
        ("n't", " not"),
        ("There's", "There is"),
        ("'m", " am"),
    ):
        text = text.replace(short, full)
    return text


def remark_texts(data: Path, rng: random.Random) -> list[tuple[str, int]]:
    """Remarks as assistants make them, written for this project, and what guests wrote of hotels and restaurants (DSTC11)."""
    reviews = [sentence for sentence in answers.review_sentences(data) if cues.judges(sentence)]
    said = list(augment.lines("assistant_remarks")) * REMARKS + rng.sample(reviews, min(REVIEWS, len(reviews)))
    return [(text, OPINION) for text in said]


def training_texts(data: Path, seed: int, generated: int) -> list[tuple[str, int]]:
    """Everything the head learns from. Nothing of CoCoNot: its training file may share rows with the file we are measured on."""
    rng = random.Random(seed)
    claims = read_fever(data / TRAIN_FILES[0])
    facts = fever_texts(claims, rng, generated // 2)
    names = rng.sample(sorted({c.title for c in claims if 0 < len(c.title.split()) < 5}), 1500)
    quoted = [c.claim for c in rng.sample(claims, 2000) if len(c.claim.split()) < 14]
    small = faithdial_texts(data) + [(str(row["claim"]), FACTUAL) for row in read_jsonl(data / TRAIN_FILES[-1])]
    plain = [(text, FACTUAL) for text in plain_texts.sentences(plain_texts.FACT, PLAIN_FACTS, seed)]
    plain += [(text, OPINION) for text in plain_texts.sentences(plain_texts.OPINION, PLAIN_OPINIONS, seed)]
    spoken = written_texts(data, rng) + remark_texts(data, rng)
    return facts + small * 2 + claim_texts.sentences(names, quoted, generated, seed) + plain * 3 + spoken


def fit(inputs: np.ndarray, kinds: np.ndarray, hidden: int, alpha: float, seed: int) -> dict[str, np.ndarray]:
    """One hidden layer, 25 passes. Held-out generated text is no guide to when to stop: it is easier than talk."""
    model = MLPClassifier(
        (hidden,), alpha=alpha, max_iter=PASSES, batch_size=400, learning_rate_init=2e-3, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of passes is the choice
        model.fit(inputs, kinds)
    print(f"loss {model.loss_:.4f} after {model.n_iter_} passes")
    (w1, w2), (b1, b2) = model.coefs_, model.intercepts_
    return {"type_W1": w1, "type_b1": b1, "type_W2": w2, "type_b2": b2}


def mean(heads: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """One head whose logits are the mean of these: their hidden units side by side. It errs less than each of them."""
    return {
        "type_W1": np.hstack([head["type_W1"] for head in heads]),
        "type_b1": np.concatenate([head["type_b1"] for head in heads]),
        "type_W2": np.vstack([head["type_W2"] for head in heads]) / len(heads),
        "type_b2": np.mean([head["type_b2"] for head in heads], axis=0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--out", type=Path, default=Path("weights/vista_guard_weights"))
    parser.add_argument(
        "--generated", type=int, nargs="+", default=[12000, 13000, 15000], help="a head for each; their mean"
    )
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--alpha", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    words = claim_texts.function_words()
    # A word counts a fifth of what it would: the embedding's 384 numbers are about a twentieth each.
    embedder = Encoder.load("embedder", max_length=64, folder=args.out.resolve())
    heads, vectors = [], dict[str, np.ndarray]()
    for generated in args.generated:
        texts = training_texts(args.data, args.seed, generated)
        print(f"{len(texts)} texts", Counter(claim_texts.TYPE_LABELS[kind] for _, kind in texts))
        said = [text for text, _ in texts]
        new = sorted({*said} - vectors.keys())
        vectors |= zip(new, embedder.run(new), strict=True)
        inputs = np.hstack([[vectors[text] for text in said], WORD_SCALE * word_features(said, words)])
        heads.append(fit(inputs, np.array([kind for _, kind in texts]), args.hidden, args.alpha, args.seed))
    arrays = mean(heads)
    arrays["type_W1"][-len(words) :] *= WORD_SCALE  # the runtime's words are 1 or 0
    floats = {name: array.astype(np.float32) for name, array in arrays.items()}
    np.savez(args.out / "heads.npz", type_words=np.array(words), **floats)
    update_judge(args.out, type_labels=list(claim_texts.TYPE_LABELS))


if __name__ == "__main__":
    main()
