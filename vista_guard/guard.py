"""The one door: a conversation goes in, a report comes out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack, overload
from uuid import uuid4
from weakref import WeakValueDictionary

from vista_guard import _aio
from vista_guard.errors import ConfigError, InputError
from vista_guard.protocols import (
    Decomposer,
    DocumentStore,
    Embedder,
    Forgetting,
    Judge,
    KnowledgeStore,
    Policy,
    Sink,
    Verifier,
)
from vista_guard.types import Conversation, Outcome, Persona, RetrieveBy, Role, Turn, TurnReport

if TYPE_CHECKING:
    from langgraph.types import Checkpointer

    from vista_guard.graph.agent import AnyGraph, AnyRunnable, WrapOptions
    from vista_guard.reading.chat_json import GivenDocuments, GivenFinder
    from vista_guard.settings.sources import Limits
    from vista_guard.stream.draft import Again
    from vista_guard.stream.gates import Gate
    from vista_guard.stream.source import Delta, Passed
    from vista_guard.telemetry.config import Telemetry
    from vista_guard.turn.work import Parts

Answer = TypeVar("Answer")

Talk = Conversation | Sequence[Any]
"""A conversation, or its chat messages: OpenAI's mappings, LangChain's messages."""


class Guard:
    """Judges assistant turns, and wraps agents so that nothing reaches the user before it is judged.

    Safe to share between threads and tasks. Conversations with an `id` build up knowledge; anonymous ones leave none.

    Args:
        judge: decomposes, verifies and categorises.
        policy: a policy, or the name of a preset: monitor, balanced, strict.
        knowledge: stores what conversations establish; in memory when not given.
        documents: the store to retrieve from when a turn brings no documents.
        persona: what the agent may take for granted about itself.
        sinks: receive every finished report.
        limits: the largest turn that is judged.
        context: `full` lets the judge see the history too (VISTA+ctx, §7).
        ungrounded: `trust` reproduces the reference implementation for turns without documents.
        retrieve_by: `claim` asks the document store with each claim, in place of the turn; `limits.retrieved` passages each.
            `both` compares a claim with the turn's passages too.
        risk_table: a file of `vista-guard calibrate`, for turns' risks and rates; the embedded judge has its own.
        telemetry: options of OpenTelemetry; no content by default (see `Telemetry`).
        host_tracing: let the host's tracers, LangSmith among them, see the guard's own runs, drafts included.

    Raises:
        ConfigError: unknown policy, or one with a false alarm rate that cannot be held.

    Attributes:
        parts: the collaborators, frozen.
    """

    def __init__(
        self,
        judge: Judge,
        policy: Policy | str = "balanced",
        *,
        knowledge: KnowledgeStore | None = None,
        documents: DocumentStore | None = None,
        persona: Persona | None = None,
        sinks: Sequence[Sink] = (),
        limits: Limits | None = None,
        context: Literal["none", "full"] = "none",
        ungrounded: Literal["judge", "trust"] = "judge",
        retrieve_by: RetrieveBy = "turn",
        risk_table: str | Path | None = None,
        telemetry: Telemetry | None = None,
        host_tracing: bool = False,
    ) -> None:
        from vista_guard.assembly import calibrate_policy, memory_knowledge
        from vista_guard.policy.label_policy import build_policy
        from vista_guard.settings.sources import Limits
        from vista_guard.stream import gates  # noqa: F401  # here with its stages: a first turn would load it on its loop
        from vista_guard.telemetry.config import Telemetry
        from vista_guard.turn.work import Parts

        if not hasattr(judge, "info"):
            named = isinstance(judge, str)
            hint = f"Guard.from_settings(judge={judge!r}) makes a judge of its name" if named else "give a judge"
            raise ConfigError(f"judge is {judge!r}; {hint}")
        if not callable(policy) and not isinstance(policy, str):
            raise ConfigError(f"policy is {policy!r}; give a preset's name or a policy")
        for field in ("withholds", "repairs"):
            if not isinstance(policy, str) and not hasattr(policy, field):
                raise ConfigError(f"policy is {policy!r}, which has no attribute {field}; set it to True or False")
        base_policy = build_policy(policy) if isinstance(policy, str) else policy
        final_policy, turn_risk = calibrate_policy(
            base_policy, judge.info, None if risk_table is None else Path(risk_table)
        )
        self.parts: Parts = Parts(
            judge=judge,
            policy=final_policy,
            knowledge=knowledge if knowledge is not None else memory_knowledge(),
            documents=documents,
            persona=persona,
            sinks=tuple(sinks),
            limits=limits or Limits(),
            context=context,
            ungrounded=ungrounded,
            retrieve_by=retrieve_by,
            turn_risk=turn_risk,
            telemetry=telemetry or Telemetry(),
            host_tracing=host_tracing,
        )
        self._sessions = WeakValueDictionary[str, Session]()

    @classmethod
    def from_settings(
        cls,
        *,
        judge: Judge | str | None = None,
        verifier: Verifier | str | Path | None = None,
        decomposer: Decomposer | str | Path | None = None,
        embedder: Embedder | str | Path | None = None,
        policy: Policy | str | None = None,
        persona: Persona | str | Path | None = None,
        knowledge: KnowledgeStore | None = None,
        documents: DocumentStore | None = None,
        sinks: Sequence[Sink] = (),
        **settings: Any,
    ) -> Self:
        """A guard from arguments, environment and settings file (see `Settings`); objects may be given in place of names.

        Raises:
            ConfigError: an unknown name, a value that makes no sense, or a missing file.
        """
        from vista_guard.assembly import assemble

        models = {"judge": judge, "verifier": verifier, "decomposer": decomposer, "embedder": embedder}
        named = {**models, "policy": policy, "persona": persona}
        return cls(**assemble(named, settings, knowledge=knowledge, documents=documents, sinks=sinks))

    def check_answer(self, answer: str, *, documents: GivenDocuments = (), question: str | None = None) -> TurnReport:
        """Judges one answer against its documents.

        Nothing is remembered: for a dialogue use `session`, for a conversation that you already have use `check`.

        Args:
            answer: the assistant's text.
            documents: what the answer must agree with: a text, a `Document`, a mapping with `text`, or a list of them.
            question: the user's message, when the answer cannot be understood without it.

        Raises:
            InputError: the answer or the question is empty, a document has no text, or the turn is over a limit.

        Examples:
            >>> from vista_guard import Guard
            >>> guard = Guard.from_settings(store="memory")
            >>> report = guard.check_answer(
            ...     "The whale hall opened in 1850.",
            ...     documents=["The whale hall opened in 1925. Entry is free on Sundays."],
            ...     question="When did the whale hall open?",
            ... )
            >>> print(report.decision.action, report.findings[0].label, report.findings[0].evidence[0].quote)
            BLOCK CONTRADICTED The whale hall opened in 1925.
            >>> guard.close()
        """
        return _aio.run(self.acheck_answer(answer, documents=documents, question=question))

    async def acheck_answer(
        self, answer: str, *, documents: GivenDocuments = (), question: str | None = None
    ) -> TurnReport:
        """Async version of `check_answer`."""
        question_turns = () if question is None else (_turn(Role.USER, question, "question"),)
        return await self.acheck(
            Conversation(turns=(*question_turns, _turn(Role.ASSISTANT, answer, "answer", documents)))
        )

    def check(self, conversation: Talk, *, documents: GivenDocuments = ()) -> TurnReport:
        """Judges the conversation's last assistant turn; later turns are ignored.

        Args:
            conversation: a `Conversation`, or chat messages as they are.
            documents: what the turn must agree with, besides the documents that it brings.

        Raises:
            InputError: there is no assistant turn, or it is over a limit; a malformed message.

        Examples:
            >>> from vista_guard import Guard
            >>> guard = Guard.from_settings(store="memory")
            >>> messages = [
            ...     {"role": "user", "content": "When did the whale hall open?"},
            ...     {"role": "assistant", "content": "The whale hall opened in 1925."},
            ... ]
            >>> report = guard.check(messages, documents=["The whale hall opened in 1925."])
            >>> print(report.decision.action, report.score)
            ALLOW 1.0
            >>> guard.close()
        """
        return _aio.run(self.acheck(conversation, documents=documents))

    async def acheck(self, conversation: Talk, *, documents: GivenDocuments = ()) -> TurnReport:
        """Async version of `check`."""
        return await self._judge(self._last_turn(_conversation(conversation, documents)))

    async def stream(self, conversation: Talk, *, documents: GivenDocuments = ()) -> AsyncIterator[Mapping[str, Any]]:
        """Async version of `check` that yields events: each `finding` or `unchecked`, the `decision`, then the `report`."""
        from vista_guard.turn.work import Work

        work = Work(conversation=self._last_turn(_conversation(conversation, documents)))
        async for event in (await self._graph()).astream({"guard": work}, stream_mode="custom"):
            yield event

    @overload
    def gated(
        self,
        conversation: Talk,
        deltas: AsyncIterator[Delta],
        *,
        gate: Gate = "sentence",
        documents: GivenDocuments | GivenFinder = (),
        again: Again | None = None,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> AsyncGenerator[str | Passed | TurnReport, None]: ...

    @overload
    def gated(
        self,
        conversation: Talk,
        deltas: Iterable[Delta],
        *,
        gate: Gate = "sentence",
        documents: GivenDocuments | GivenFinder = (),
        again: Again | None = None,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> _aio.Bridged[str | Passed | TurnReport]: ...

    def gated(
        self,
        conversation: Talk,
        deltas: AsyncIterator[Delta] | Iterable[Delta],
        *,
        gate: Gate = "sentence",
        documents: GivenDocuments | GivenFinder = (),
        again: Again | None = None,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> AsyncGenerator[str | Passed | TurnReport, None] | _aio.Bridged[str | Passed | TurnReport]:
        """Streams an assistant turn, each part of it once it is judged: an async generator of async deltas, else a plain one.

        Args:
            conversation: the turns before it, or their chat messages.
            deltas: the turn's text as it comes, with the host's other objects (tool calls, usage) as `Passed` among it, and the
                documents that are found meanwhile as `Found`.
            gate: `sentence` lets each sentence out once its claims passed; `turn` holds all until the whole was judged; `none`
                lets everything out and judges afterwards, for policies that withhold nothing.
            documents: the turn's evidence, or a function that finds it once the turn is known.
            again: gives the deltas of another answer, from the draft that was withheld and a note on it; for policies that
                regenerate. It is called as long as nothing of the draft went out, else the policy's fallback is taken.
            on_outcome: called with each claim just before its text goes out, and with none that is withheld or
                dropped; with `none`, after the text. Spans are places in the text of `deltas`.

        Yields text that may be shown and the passed objects, in order, and last of all the report, whose `response` is the text
        that was yielded. Text that was yielded is never taken back. Closing the generator closes `deltas`.

        Raises:
            ConfigError: gate `none` with a policy that withholds.
            InputError: the turn is over a limit.
        """
        from vista_guard.reading.chat_json import given_documents
        from vista_guard.stream.gates import gated

        turn_documents = (
            (lambda talk: given_documents(documents(talk))) if callable(documents) else given_documents(documents)
        )
        run = partial(
            gated,
            self.parts,
            _conversation(conversation),
            gate=gate,
            documents=turn_documents,
            again=again,
            on_outcome=on_outcome,
        )
        if isinstance(deltas, AsyncIterator):
            return run(deltas)
        return _aio.Bridged(run(_aio.in_thread(lambda: iter(deltas), copy_context())))

    async def areplay(
        self,
        conversation: Conversation,
        *,
        done: Sequence[TurnReport] = (),
        turns: Collection[int] | None = None,
    ) -> AsyncGenerator[TurnReport, None]:
        """Judges every assistant turn of a logged conversation, in order.

        Args:
            conversation: the logged turns. Its id names the knowledge; an anonymous one is forgotten at the end.
            done: reports of an interrupted replay: their turns are not judged again, what they remembered is known again.
            turns: places of the turns to judge; all assistant turns when not given.
        """
        owned = conversation if conversation.id else conversation.model_copy(update={"id": f"replay-{uuid4().hex}"})
        finished = {report.turn_index: report for report in done}
        try:
            for index, turn in enumerate(owned.turns):
                if turn.role is not Role.ASSISTANT or (turns is not None and index not in turns):
                    continue
                if index in finished:
                    await self._restore(owned, finished[index])
                else:
                    report = await self._judge(owned.up_to(index), catch_up=False)
                    yield report.model_copy(update={"conversation_id": conversation.id})
        finally:
            if conversation.id is None:
                await self.parts.knowledge.forget(owned.id or "")

    def replay(self, conversation: Conversation) -> Iterator[TurnReport]:
        """Sync version of `areplay`, for the whole conversation."""

        async def reports() -> list[TurnReport]:
            return [report async for report in self.areplay(conversation)]

        yield from _aio.run(reports())

    @overload
    def wrap(self, agent: AnyGraph, **options: Unpack[WrapOptions]) -> AnyGraph: ...

    @overload
    def wrap(self, agent: AnyRunnable, **options: Unpack[WrapOptions]) -> AnyRunnable: ...

    @overload
    def wrap(self, agent: Callable[..., Answer], **options: Unpack[WrapOptions]) -> Callable[..., Answer]: ...

    def wrap(self, agent: Any, **options: Unpack[WrapOptions]) -> Any:
        """The agent behind the guard: a callable for a callable, a Runnable for a Runnable, a graph for a graph.

        Where the policy withholds a turn, its message is delivered instead; `on_block="raise"` raises `Blocked`.

        Args:
            agent: takes a text or messages, and answers with a text, a message or a mapping that holds one. A generator
                function, sync or async, yields its answer in pieces, and documents among them.
            gate: how much of a stream waits for its judgement (see `gated`): `sentence` by default for generator functions
                and for `stream` and `astream` of a Runnable; a graph's streams always wait for the whole turn.
            documents: evidence for every draft, besides that of the agent's answer: a Document, a text, a list of
                them, or a function that finds them from the conversation that ends with the draft. With the gate `sentence`
                it is asked before a word of the draft is known.
            on_report: called with every report.
            on_block: `replace` delivers the policy's message in place of a withheld turn; `raise` raises `Blocked`.

        A callable's conversation is named by `conversation_id=…` in the call, a Runnable's or graph's by `thread_id`. An agent
        may `interrupt()` for a human where LangGraph runs it, and goes on from there.

        Raises:
            ConfigError: the agent or `documents` is something else, or the gate cannot hold what the policy withholds.
            TypeError: an option that does not exist.
        """
        from vista_guard.graph.agent import build_surface, known_options
        from vista_guard.graph.wrap import wrap

        return wrap(agent, self.parts, build_surface(**known_options("wrap", options)))

    def graph(self, agent: object, *, checkpointer: Checkpointer = None, **options: Unpack[WrapOptions]) -> AnyGraph:
        """The compiled LangGraph with the agent as one of its nodes: to embed, to stream, to draw.

        Its state has `messages`; `stream_mode="custom"` yields each finding as it is judged; `report` is in its result.
        """
        from vista_guard.graph.agent import build_surface, known_options
        from vista_guard.graph.wrap import graph

        surface = build_surface(**known_options("graph", options, "checkpointer"))
        return graph(agent, self.parts, surface, checkpointer=checkpointer)

    def session(self, conversation_id: str | None = None, *, history: Sequence[Turn] = ()) -> Session:
        """Opens a dialogue that is judged turn by turn, with its history and what it established.

        Args:
            conversation_id: names the knowledge that the dialogue builds up and the reports; without it nothing outlives
                the session's own turns.
            history: earlier turns, to resume a dialogue that you stored.

        Raises:
            InputError: the id is empty, or another session of this guard has it.

        Examples:
            >>> from vista_guard import Guard
            >>> guard = Guard.from_settings(store="memory")
            >>> with guard.session("visitor-7") as chat:
            ...     chat.user("When did the whale hall open?")
            ...     answer = "The whale hall opened in 1925."
            ...     first = chat.assistant(answer, documents=["Halls: the whale hall opened in 1925."])
            ...     chat.user("Is it older than the harbour?")
            ...     second = chat.assistant("The whale hall opened in 1850.")
            >>> print(first.decision.action, second.decision.action)
            ALLOW BLOCK
            >>> chat.conversation.turns[-1].text == second.response  # the user read the policy's message
            True
            >>> guard.close()
        """
        return Session(self, conversation_id, history)

    async def aforget(self, conversation_id: str) -> int:
        """Drops what the conversation established, and its reports where sinks can forget; returns the number of claims."""
        from vista_guard.turn.work import check_id

        check_id(conversation_id)
        for sink in (sink for sink in self.parts.sinks if isinstance(sink, Forgetting)):
            await sink.forget(conversation_id)
        return await self.parts.knowledge.forget(conversation_id)

    def forget(self, conversation_id: str) -> int:
        """Sync version of `aforget`."""
        return _aio.run(self.aforget(conversation_id))

    async def aclose(self) -> None:
        """Closes the judge, the stores and the sinks that can be closed."""
        for part in (self.parts.judge, self.parts.knowledge, self.parts.documents, *self.parts.sinks):
            close = getattr(part, "aclose", None)
            if close is not None:
                await close()

    def close(self) -> None:
        """Sync version of `aclose`."""
        _aio.run(self.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def _graph(self) -> AnyGraph:
        return await asyncio.to_thread(lambda: self._checking)  # LangGraph loads with it

    @cached_property
    def _checking(self) -> AnyGraph:
        from vista_guard.graph.agent import build_graph

        return build_graph(self.parts)

    def _last_turn(self, conversation: Conversation) -> Conversation:
        from vista_guard.turn.work import check_limits

        spoken = [place for place, turn in enumerate(conversation.turns) if turn.role is Role.ASSISTANT]
        if conversation.turns and not spoken:
            raise InputError("the conversation has no assistant turn; there is nothing to judge")
        judged = conversation.up_to(spoken[-1]) if spoken else conversation
        check_limits(judged, self.parts.limits)
        return judged

    async def _judge(self, conversation: Conversation, *, catch_up: bool = True) -> TurnReport:
        from vista_guard.turn.stages import run_all
        from vista_guard.turn.work import Work

        work = Work(conversation=conversation, catch_up=catch_up)
        if self.parts.host_tracing:  # the host's tracers see the graph's runs
            work = (await (await self._graph()).ainvoke({"guard": work}))["guard"]
        else:
            with await _untraced_run():
                work = await run_all(work, self.parts)
        return work.finished

    async def _restore(self, conversation: Conversation, report: TurnReport) -> None:
        from vista_guard.turn.report import earned_claims

        turn = Turn(role=Role.ASSISTANT, text=report.response)
        key = Conversation(turns=(*conversation.turns[: report.turn_index], turn)).turn_key()
        await self.parts.knowledge.remember(
            conversation.id or "", key, earned_claims(report.remembered, report.outcomes)
        )


async def _untraced_run() -> AbstractContextManager[None]:
    """Hides a judge's LangChain runs from the host's tracers. Loads LangGraph only where there may be some."""
    config = sys.modules.get("langchain_core.runnables.config")
    if config is None or not config.ensure_config().get("callbacks"):
        return nullcontext()
    private = await asyncio.to_thread(import_module, "vista_guard.graph.vendor_private")
    hidden: AbstractContextManager[None] = private.untraced_run()
    return hidden


class Session:
    """A dialogue, judged turn by turn. Open one with `Guard.session`.

    Every answer is judged with the turns before it and what they established. The text that your user reads is
    `report.response`; that text, not a withheld draft, becomes part of the conversation.

    One answer at a time: a session serves one dialogue. Several sessions may run at once.
    """

    def __init__(self, guard: Guard, conversation_id: str | None, history: Sequence[Turn] = ()) -> None:
        from vista_guard.turn.work import check_id

        check_id(conversation_id)
        if conversation_id == "":
            raise InputError("conversation_id is empty; give an id, or leave it out for an anonymous session")
        self._guard = guard
        self._id = conversation_id
        self._turns = list(history)
        self._reports: list[TurnReport] = []
        self._busy = Lock()
        self._closed = False
        if conversation_id is not None and guard._sessions.setdefault(conversation_id, self) is not self:
            raise InputError(
                f"conversation {conversation_id!r} already has an open session; use that one, or close it first"
            )

    @property
    def conversation(self) -> Conversation:
        """The dialogue as the user saw it."""
        return Conversation(turns=tuple(self._turns), id=self._id)

    @property
    def reports(self) -> tuple[TurnReport, ...]:
        """Reports on the answers of this session, oldest first."""
        return tuple(self._reports)

    def user(self, text: str) -> None:
        """Adds a user message.

        Raises:
            InputError: the text is empty, an answer is being judged, or the session is closed.
        """
        turn = _turn(Role.USER, text, "user message")
        with self._exclusive("this message"):
            self._turns.append(turn)

    def assistant(self, text: str, documents: GivenDocuments = ()) -> TurnReport:
        """Judges an answer and adds what is delivered of it.

        Args:
            text: the agent's draft.
            documents: what this answer must agree with: a text, a `Document`, a mapping with `text`, or a list of them.

        Raises:
            InputError: the text is empty or over a limit, another answer is being judged, or the session is closed.
        """
        return _aio.run(self.aassistant(text, documents))

    async def aassistant(self, text: str, documents: GivenDocuments = ()) -> TurnReport:
        """Async version of `assistant`."""
        draft = _turn(Role.ASSISTANT, text, "answer", documents)
        with self._exclusive("the next"):
            report = await self._guard.acheck(Conversation(turns=(*self._turns, draft), id=self._id))
            self._turns.append(draft if report.response == text else draft.model_copy(update={"text": report.response}))
            self._reports.append(report)
        return report

    def close(self) -> None:
        """Ends the session and frees its id. What the conversation established stays (`Guard.forget` drops it)."""
        self._closed = True
        if self._id is not None and self._guard._sessions.get(self._id) is self:
            del self._guard._sessions[self._id]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def _exclusive(self, what: str) -> Iterator[None]:
        """Turns have an order: two answers judged at once would not see each other."""
        name = "the anonymous session" if self._id is None else f"session {self._id!r}"
        if self._closed:
            raise InputError(
                f"{name} is closed; open another with guard.session(…, history=session.conversation.turns)"
            )
        if not self._busy.acquire(blocking=False):
            raise InputError(f"{name} is judging an answer; wait for it before {what}")
        try:
            yield
        finally:
            self._busy.release()


def _conversation(talk: Talk, documents: GivenDocuments = ()) -> Conversation:
    """The conversation, or that of these messages; `documents` come to those of its last assistant turn."""
    from vista_guard.reading.chat_json import distinct, given_documents, to_conversation

    if isinstance(talk, str) or not isinstance(talk, Conversation | Sequence):
        raise InputError(
            f"the conversation is {type(talk).__name__}; give a Conversation or a list of chat messages. For one answer call "
            "check_answer(answer, documents=…)"
        )
    if isinstance(talk, Conversation):
        conversation = talk
    elif all(isinstance(message, Mapping) and "role" in message for message in talk):
        conversation = to_conversation(talk)
    else:
        from vista_guard.graph.host_objects import conversation_of

        conversation = conversation_of(talk)
    given = given_documents(documents)
    spoken = [place for place, turn in enumerate(conversation.turns) if turn.role is Role.ASSISTANT]
    if not given or not spoken:
        return conversation
    turns = list(conversation.turns)
    own = turns[spoken[-1]]
    turns[spoken[-1]] = own.model_copy(update={"documents": distinct([*own.documents, *given])})
    return conversation.model_copy(update={"turns": tuple(turns)})


def _turn(role: Role, text: object, name: str, documents: GivenDocuments = ()) -> Turn:
    """Makes a turn of a caller's text."""
    from vista_guard.reading.chat_json import given_documents

    if not isinstance(text, str):
        raise InputError(f"the {name} is {type(text).__name__}; give its text")
    if not text.strip():
        raise InputError(f"the {name} is empty; give its text")
    return Turn(role=role, text=text, documents=given_documents(documents))
