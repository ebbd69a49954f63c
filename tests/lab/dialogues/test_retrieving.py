"""Passages by name of embedder, reranker and corpus, and assistants behind an endpoint or with a memory of their own."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from tests.lab.dialogues.runs import HARBOUR, TOWER, Scripted
from vista_guard.errors import ConfigError, UnreadableError
from vista_guard.judges.model import ChatModel, Message, ModelOptions, OpenAIChat
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.testing import Answer, ReceivedRequest, ScriptedChatServer, WordEmbedder
from vista_guard.types import Document, Passage, SourceKind
from vista_lab.dialogues.asking import (
    THREAD,
    Assistant,
    ChatAssistant,
    DialogueCounts,
    Dialogues,
    FunctionAssistant,
    ask,
    check,
)
from vista_lab.dialogues.questions import QuestionSet
from vista_lab.dialogues.records import read_answers
from vista_lab.dialogues.reranking import build_reranker
from vista_lab.dialogues.retrieving import PassageFinder
from vista_lab.dialogues.settings import PAPER, paper_settings, read_setting

ONE, TWO, THREE = HARBOUR.questions


def dialogues(assistant: Assistant, *settings: str, **more: Any) -> Dialogues:
    items = QuestionSet("own", "0" * 64, more.pop("items", (HARBOUR,)))
    return Dialogues(items, Path("own.jsonl"), [assistant], [read_setting(one) for one in settings], **more)


def held(out: Path, assistant: Assistant, *settings: str, **more: Any) -> DialogueCounts:
    return asyncio.run(ask(dialogues(assistant, *settings, **more), out, at_once=1))


def passage(text: str) -> Passage:
    return Passage(source=SourceKind.DOCUMENT, source_id=text[:4], text=text)


def no_chat(name: str) -> ChatModel:
    raise AssertionError(name)


@pytest.mark.parametrize("gives_probabilities", [True, False])
async def test_an_endpoint_says_yes_or_no_to_each_passage(gives_probabilities: bool) -> None:
    likely = {"Ships.": 0.2, "It cost nine million.": 0.9, "The cost is unknown.": 0.6}

    def script(request: ReceivedRequest) -> Answer:
        assert request.body["top_logprobs"] == 5
        (share,) = (share for text, share in likely.items() if text in str(request.body["messages"][-1]["content"]))
        word = "yes" if share > 0.5 else "no"
        return Answer(word, first={"Yes": math.log(share), "no": math.log(1 - share)} if gives_probabilities else {})

    with ScriptedChatServer(script) as server:
        reranker = build_reranker("openai:m", lambda name: OpenAIChat(name[7:], base_url=server.base_url))
        kept = await reranker.keep(THREE, [passage(text) for text in likely], 2)
        await reranker.aclose()
    best = ["It cost nine million.", "The cost is unknown."]
    assert [one.text for one in kept] == best
    with ScriptedChatServer("Perhaps.") as server:
        reranker = build_reranker("openai:m", lambda name: OpenAIChat(name[7:], base_url=server.base_url))
        with pytest.raises(UnreadableError):
            await reranker.keep(THREE, [passage("Ships.")], 1)
        await reranker.aclose()


def test_a_reranker_that_there_is_not_is_named() -> None:
    assert build_reranker("shipped", no_chat).name == "shipped"
    with pytest.raises(ConfigError, match="bm25"):
        build_reranker("bm25", no_chat)


@pytest.mark.parametrize("kind", ["pair", "spoken"])
async def test_a_reranker_of_ones_own_is_run_from_its_folder(tmp_path: Path, kind: str) -> None:
    torch = pytest.importorskip("torch", reason="a reranking model needs the extra `torch`")
    transformers = pytest.importorskip("transformers", reason="a reranking model needs the extra `torch`")
    words = ["[UNK]", "[PAD]", "yes", "no", "cost", "ships", "nine", "<", ">", ":"]
    tokenizers = pytest.importorskip("tokenizers")
    raw = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]")
    )
    raw.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokens = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="[UNK]", pad_token="[PAD]")
    torch.manual_seed(3)
    shape = {"vocab_size": len(words), "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
             "num_attention_heads": 2, "max_position_embeddings": 256, "initializer_range": 0.9}  # fmt: skip
    if kind == "pair":
        model = transformers.BertForSequenceClassification(transformers.BertConfig(**shape, num_labels=1))
    else:
        model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**shape, num_key_value_heads=2, head_dim=8))
    model.eval().save_pretrained(tmp_path)
    tokens.save_pretrained(tmp_path)
    texts = ["ships ships", "cost nine", "nine yes cost"]
    reranker = build_reranker(str(tmp_path), no_chat)
    kept = await reranker.keep("cost", [passage(text) for text in texts], 3)

    def score(text: str) -> float:
        if kind == "pair":
            return float(model(**tokens("cost", text, return_tensors="pt")).logits[0, 0].detach())
        prompt = (
            "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "
            'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web search query, '
            f"retrieve relevant passages that answer the query\n<Query>: cost\n<Document>: {text}"
            "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
        )
        logits = model(**tokens(prompt, return_tensors="pt", return_token_type_ids=False)).logits[0, -1].detach()
        return float(logits[words.index("yes")] - logits[words.index("no")])

    assert [one.text for one in kept] == sorted(texts, key=score, reverse=True)
    assert len({round(score(text), 6) for text in texts}) == 3


def test_all_items_share_one_corpus(tmp_path: Path) -> None:
    bare = replace(TOWER, documents=())
    store = MemoryDocuments(WordEmbedder())
    asyncio.run(store.add([Document(id="guide", text="The tower is 40 metres high and open on Sundays.")]))
    assistant = Scripted(lambda _: "Yes.")
    run = dialogues(assistant, "single+rag=base", items=(bare,), corpus=True)
    done = asyncio.run(ask(run, tmp_path, finder=PassageFinder(WordEmbedder(), corpus=store)))
    assert (done.whole, done.dialogues) == (1, 1)
    assert "40 metres high and open" in assistant.asked[0][-1].content
    assert next(read_answers(tmp_path)).retrieved[0].startswith("guide")


def test_a_chat_model_is_shown_the_same_messages_over_http(tmp_path: Path) -> None:
    """A dialogue of three turns in all forms that change the last prompt, as the endpoint gets them."""

    def script(request: ReceivedRequest) -> Answer:
        return Answer(
            f"A{len(request.body['messages'])}", reasoning="Hm." if len(request.body["messages"]) == 5 else ""
        )

    with ScriptedChatServer(script) as server:
        model = OpenAIChat("m", base_url=server.base_url, options=ModelOptions(max_output_tokens=1024))
        assistant = ChatAssistant(model)
        held(
            tmp_path,
            assistant,
            "single",
            "multi",
            "multi+concat",
            "multi+budget=6",
            system={assistant.name: "Be brief."},
        )
        sent = [[(one["role"], one["content"]) for one in request.body["messages"]] for request in server.requests]
        assert {(one.body["temperature"], one.body["max_tokens"]) for one in server.requests} == {(0.0, 1024)}
        asyncio.run(assistant.aclose())
    head = ("system", "Be brief.")
    first, second = [head, ("user", ONE)], [head, ("user", ONE), ("assistant", "A2"), ("user", TWO)]
    third = [*second, ("assistant", "A4"), ("user", THREE)]
    talk = f"User: {ONE}\n\nAssistant: A2\n\nUser: {TWO}\n\nAssistant: A4"
    asked = [head, ("user", f"A conversation so far:\n\n{talk}\n\nThe user now asks:\n{THREE}")]
    short = [head, ("user", TWO), ("assistant", "A4"), ("user", THREE)]
    assert sent == [[head, ("user", THREE)], first, second, third, first, second, asked, first, second, short]
    assert not [line.thoughts for line in read_answers(tmp_path) if line.thoughts]


def test_thoughts_that_come_apart_are_kept_and_are_the_answer_where_there_is_no_other(tmp_path: Path) -> None:
    replies = [Answer("At six.", reasoning="Six or seven?"), Answer("", reasoning="It must be six.")]
    with ScriptedChatServer(lambda _: replies.pop(0)) as server:
        assistant = ChatAssistant(OpenAIChat("m", base_url=server.base_url))
        held(tmp_path, assistant, "single", items=(HARBOUR, TOWER))
        asyncio.run(assistant.aclose())
    assert [(line.answer, line.thoughts) for line in read_answers(tmp_path)] == [
        ("At six.", "Six or seven?"), ("It must be six.", ""),
    ]  # fmt: skip


def test_an_agent_with_a_memory_of_its_own_gets_text_and_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rememberer.py").write_text(
        "threads = {}\nfail = []\n"
        "def agent(text, thread_id):\n"
        "    if fail and text == fail[0]:\n        raise RuntimeError('down')\n"
        "    threads.setdefault(thread_id, []).append(text)\n"
        "    return f'{len(threads[thread_id])} so far'\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    assistant = FunctionAssistant("agent:rememberer:agent")
    import rememberer  # type: ignore[import-not-found]

    rememberer.fail.append(THREE)
    assert not held(tmp_path / "run", assistant, "multi").complete
    rememberer.fail.clear()
    resumed = FunctionAssistant("agent:rememberer:agent")
    assert held(tmp_path / "run", resumed, "multi").complete
    assert list(rememberer.threads.values()) == [[ONE, TWO], [ONE, TWO, THREE]]
    *_, last = read_answers(tmp_path / "run")
    assert (last.answer, last.calls) == ("3 so far", 3)
    with pytest.raises(ConfigError, match="keeps its own"):
        check(dialogues(assistant, "multi+concat"))


def test_an_agent_with_a_memory_of_its_own_is_told_what_a_guard_objects_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "careless.py").write_text(
        "threads = {}\n"
        "def agent(text, thread_id):\n"
        "    threads.setdefault(thread_id, []).append(text)\n"
        f"    return 'The mayor of Rome paid for it.' if text == {ONE!r} else 'It cost nine million.'\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert held(tmp_path / "run", FunctionAssistant("agent:careless:agent"), "multi+guard=strict").complete
    import careless  # type: ignore[import-not-found]

    ((one, note, *later),) = careless.threads.values()
    assert (one, later) == (ONE, [TWO, THREE])
    assert note not in HARBOUR.questions
    assert [line.drafts for line in read_answers(tmp_path / "run")] == [2, 1, 1]


async def test_an_agent_with_a_memory_of_its_own_is_asked_again_where_it_said_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "silent.py").write_text(
        "told = []\ndef agent(text, thread_id):\n    told.append(text)\n    return 'Yes.' if len(told) > 1 else ''\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    assistant = FunctionAssistant("agent:silent:agent")
    THREAD.set("a dialogue")
    replies = [await assistant.answer([Message("user", ONE)]) for _ in range(2)]
    assert [(reply.text, reply.failure, reply.calls) for reply in replies] == [("", "empty", 1), ("Yes.", None, 1)]


def test_a_guard_is_never_given_the_reference_answers() -> None:
    with pytest.raises(ConfigError, match="only win"):
        check(dialogues(Scripted(lambda _: "Yes."), "multi+guard=strict", references="oracle"))


def test_the_preset_is_all_of_the_papers_settings() -> None:
    every = paper_settings("runs/k", ["openai:a", "openai:b"])
    assert every[: len(PAPER)] == list(PAPER)
    assert every[len(PAPER) :][:2] == ["multi+swap=runs/k:openai:a", "multi+swap=runs/k:openai:b"]
    assert [read_setting(one).name for one in every] == every
    assert {read_setting(one).noise for one in every} == {None, "irrelevant", "irrelevant-error", "relevant-error"}
