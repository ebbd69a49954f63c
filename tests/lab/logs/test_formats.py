"""Each log format, and how it is told apart."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from vista_guard.errors import InputError
from vista_guard.types import Claim, Conversation, Document, Label, Role, Turn
from vista_lab.logs.formats import BrokenEntry, LogFormat, LoggedConversation, detect, named, read_log
from vista_lab.logs.readers import names

PIER = [
    {"role": "assistant", "utterance": "I love piers.", "retrieved_document": "N/A"},
    {"role": "user", "utterance": "How long is the old one?"},
    {
        "role": "assistant",
        "utterance": "It is 310 m long, and lovely.",
        "retrieved_document": "The old pier is 310 m long.",
        "human_claims": [
            {"claim_text": "The old pier is 310 m long.", "human_judgement": "verifiable"},
            {"claim_text": "The old pier is lovely.", "human_judgement": "out of scope"},
        ],
        "conversation_id": 7,
        "dataset": "SHORE",
        "turn_index": 0,
    },
]
CHAT = {
    "id": "c1",
    "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "It is 310 m long."}],
    "documents": ["The old pier is 310 m long."],
}
SHARED = {
    "id": "s1",
    "system": "Be brief.",
    "conversations": [
        {"from": "human", "value": "How long?"},
        {"from": "function_call", "value": "{}"},
        {"from": "observation", "value": "310 m"},
        {"from": "gpt", "value": "310 m."},
    ],
}


def test_reference(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps([PIER]), encoding="utf-8")
    claims = (
        Claim(id="t2.c1", text="The old pier is 310 m long."),
        Claim(id="t2.c2", text="The old pier is lovely."),
    )
    document = Document(id="t2.d1", text="The old pier is 310 m long.")
    assert list(read_log(log)) == [
        LoggedConversation(
            Conversation(
                id="SHORE-7",
                turns=(
                    Turn(role=Role.ASSISTANT, text="I love piers."),
                    Turn(role=Role.USER, text="How long is the old one?"),
                    Turn(
                        role=Role.ASSISTANT,
                        text="It is 310 m long, and lovely.",
                        documents=(document,),
                        claims=claims,
                    ),
                ),
            ),
            {"t2.c1": Label.VERIFIED, "t2.c2": Label.OUT_OF_SCOPE},
        )
    ]


def test_reference_with_other_spellings(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    claims = [{"claim_text": "A.", "human_judgement": "Lacking_Evidence"}, {"claim_text": "B."}, "C."]
    turn = {"role": "Assistant", "utterance": "A. B. C.", "retrieved_document": ["One.", "n/a"], "claims": claims}
    log.write_text(json.dumps([[turn]]), encoding="utf-8")
    made = tuple(Claim(id=f"t0.c{number}", text=text) for number, text in enumerate(("A.", "B.", "C."), 1))
    document = Document(id="t0.d1", text="One.")
    expected = Turn(role=Role.ASSISTANT, text="A. B. C.", documents=(document,), claims=made)
    assert list(read_log(log)) == [
        LoggedConversation(Conversation(id="conversation-1", turns=(expected,)), {"t0.c1": Label.LACKING_EVIDENCE})
    ]


def test_openai_messages(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    nameless = {"messages": CHAT["messages"]}
    empty = {"id": "", "conversation_id": 4, "messages": []}
    log.write_text("\n".join(json.dumps(chat) for chat in (CHAT, nameless, empty)), encoding="utf-8")
    question, answer = Turn(role=Role.USER, text="?"), Turn(role=Role.ASSISTANT, text="It is 310 m long.")
    document = Document(id="The old pier is 310 m long. #a95f2d70", text="The old pier is 310 m long.")
    grounded = answer.model_copy(update={"documents": (document,)})
    assert list(read_log(log)) == [
        LoggedConversation(Conversation(id="c1", turns=(question, grounded)), {}, 1),
        LoggedConversation(Conversation(id="line-2", turns=(question, answer)), {}, 2),
        BrokenEntry(f"{log} line 3", "has no messages"),
    ]


@pytest.mark.parametrize("as_list", [True, False])
def test_sharegpt(tmp_path: Path, as_list: bool) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps([SHARED] if as_list else SHARED), encoding="utf-8")
    expected = Conversation(
        id="s1",
        turns=(
            Turn(role=Role.SYSTEM, text="Be brief."),
            Turn(role=Role.USER, text="How long?"),
            Turn(role=Role.ASSISTANT, text="310 m.", documents=(Document(id="tool:3", text="310 m"),)),
        ),
    )
    assert list(read_log(log)) == [LoggedConversation(expected, {}, None if as_list else 1)]


@pytest.mark.parametrize(
    ("content", "log_format"),
    [([PIER], named("reference")), (CHAT, named("openai")), ([CHAT], named("openai")), (SHARED, named("sharegpt"))],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_detect_looks_at_content(tmp_path: Path, content: object, log_format: LogFormat, zipped: bool) -> None:
    log = tmp_path / "log.bin"  # Neither the format nor the compression is in the name.
    raw = b"\xef\xbb\xbf\n" + json.dumps(content).encode()
    log.write_bytes(gzip.compress(raw) if zipped else raw)
    assert detect(log) is log_format
    assert list(read_log(log)) == list(read_log(log, log_format))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ('{"asked": "?", "told": "!"}', "line 1 has the keys asked, told: no known format."),
        ('[{"role": "user", "content": "?"}]', "conversation 1 has the keys role, content: no known format."),
        ("7", "line 1 has the value '7': no known format."),
        ("id;text\n1;Hello", "line 2 has the keys id, text: no known format."),
        ("Hello, all", "has no conversation."),
        ("Hello", "line 1 is not JSON: Expecting value: line 1 column 1 (char 0)."),
        ("[]", "has no conversation."),
    ],
)
def test_detect_says_what_the_formats_are(tmp_path: Path, content: str, error: str) -> None:
    log = tmp_path / "log"
    log.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        detect(log)
    told = str(raised.value)
    assert told.startswith(f"{log} {error}")
    assert [name for name in names() if name not in told] == []


@pytest.mark.parametrize(
    ("log_format", "entry", "error"),
    [
        (named("reference"), {}, "is dict; a conversation of this format is a list of turns"),
        (
            named("reference"),
            [{"role": "user"}],
            "turn 0 is \"{'role': 'user'}\"; expected a mapping with role and utterance",
        ),
        (
            named("reference"),
            [{"role": "wizard", "utterance": "x"}],
            "turn 0 has the role 'wizard'; the roles are user, assistant, system, tool and usual names for them; map it: "
            "--roles wizard=user, or =assistant, =system, =tool",
        ),
        (
            named("reference"),
            [{"role": "user", "utterance": "x", "retrieved_document": 7}],
            "turn 0 has the retrieved_document '7'; expected a text or texts",
        ),
        (
            named("reference"),
            [{"role": "assistant", "utterance": "x", "claims": [{"claim_text": "x", "human_judgement": "maybe"}]}],
            "claim t0.c1 has the human_judgement 'maybe'; the judgements are verifiable, verified, out of scope, "
            "contradicted, lacking evidence, abstention",
        ),
        (
            named("reference"),
            [{"role": "assistant", "utterance": "x", "claims": [7]}],
            "claim 1 of turn 0 is '7'; expected a mapping with claim_text",
        ),
        (
            named("reference"),
            [{"role": "assistant", "utterance": "x", "claims": 7}],
            "turn 0 has the claims '7'; expected a list",
        ),
        (named("openai"), {"messages": 7}, 'is not a chat; expected {"messages": [...]}'),
        (named("openai"), {"messages": [7]}, "message 0 is 7; expected a mapping with role and content"),
        (
            named("sharegpt"),
            {"conversations": [{"from": "elf", "value": "x"}]},
            "message 0 has the role 'elf'; the roles are user, assistant, system, tool and usual names for them; map it: "
            "--roles elf=user, or =assistant, =system, =tool",
        ),
        (
            named("sharegpt"),
            {"conversations": [{"from": "human", "value": 7}]},
            "message 0 is \"{'from': 'human', 'value': 7}\"; expected a mapping with from and value",
        ),
        (
            named("sharegpt"),
            [],
            'is not a ShareGPT chat; expected {"conversations": [{"from": "human", "value": "…"}, …]}',
        ),
        (
            named("openai"),
            {"messages": [{"role": "user", "content": "a\x00b"}]},
            "turn 0 has a NUL character at position 1; remove it",
        ),
        (
            named("openai"),
            {"id": "\ud800", "messages": []},
            "the conversation's id is '\\ud800': Input should be a valid string, unable to parse raw data as a unicode string",
        ),
        (
            named("openai"),
            {"messages": [{"role": "assistant", "content": "x", "documents": [{"id": "d", "text": "\x00"}]}]},
            "turn 0: document 'd' has a NUL character at position 0; remove it",
        ),
    ],
)
def test_a_broken_entry_is_named_and_the_rest_goes_on(
    tmp_path: Path, log_format: LogFormat, entry: object, error: str
) -> None:
    good = {named("reference"): PIER, named("openai"): CHAT, named("sharegpt"): SHARED}[log_format]
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps([good, entry, good]), encoding="utf-8")
    first, broken, last = read_log(log, log_format)
    assert broken == BrokenEntry(f"{log} conversation 2", error)
    assert isinstance(first, LoggedConversation)
    assert isinstance(last, LoggedConversation)
    assert last.conversation == first.conversation.model_copy(update={"id": f"{first.conversation.id}#2"})


@pytest.mark.skipif("VISTA_GUARD_DATA" not in os.environ, reason="VISTA_GUARD_DATA names no folder of shared data")
def test_the_released_human_evaluation() -> None:
    log = Path(os.environ["VISTA_GUARD_DATA"]) / "vista-human" / "human_eval_dev.json"
    entries = [entry for entry in read_log(log) if isinstance(entry, LoggedConversation)]
    labels = [label for entry in entries for label in entry.labels.values()]
    turns = [turn for entry in entries for turn in entry.conversation.turns if turn.claims is not None]
    assert (len(entries), len({entry.conversation.id for entry in entries}), len(turns)) == (70, 70, 113)
    assert {label: labels.count(label) for label in Label} == {
        Label.VERIFIED: 213,
        Label.OUT_OF_SCOPE: 125,
        Label.CONTRADICTED: 1,
        Label.LACKING_EVIDENCE: 108,
        Label.ABSTENTION: 6,
    }
