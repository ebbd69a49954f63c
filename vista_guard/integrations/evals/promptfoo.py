"""An assertion for promptfoo: `get_assert`, as `type: python` calls it, and a process that answers for `type: javascript`.

promptfoo starts Python anew for each assertion. One in JavaScript that asks a single process for all cases is written by
`python -m vista_guard.integrations.evals.promptfoo grounded.mjs`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO, get_args

from vista_guard.errors import ConfigError, InputError, VistaGuardError
from vista_guard.integrations.evals.grader import Case, Turns, shared_grader
from vista_guard.reading.chat_json import read_json

if TYPE_CHECKING:
    from vista_guard.integrations.evals.grader import JudgedClaim, Verdict
    from vista_guard.types import Document

CONFIG = ("judge", "policy", "documents", "min_score", "turns")
EVIDENCE = ("documents", "context")
UNREAD = re.compile(r"file://\S+|\{\{.*\}\}")
"""References that promptfoo passes on unread: it resolves files and templates only as the whole value of a var."""

AT_ONCE = 16
"""Cases judged at once: promptfoo asks for four tests at once, with three assertions each."""


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Grades the provider's answer against its evidence; promptfoo calls this.

    The assertion's `config` may have `judge`, `policy`, `documents`, `turns` (all, last) and `min_score`, a least VISTA score
    that decides in place of the policy. Evidence are the config's documents, and `documents` or `context` of the test's vars
    and of the metadata that the provider answered with. The question is the prompt, as text or as chat messages in JSON.

    Returns:
        promptfoo's GradingResult. `score` is the VISTA score, `componentResults` has one result a claim with its quotes. Where
        nothing was judged it does not pass, the reason begins with "not judged", and the named score `vista_not_judged` is 1:
        promptfoo knows no third answer, and `not-python` would turn that one round.

    Examples:
        >>> context = {"prompt": "When did the hall open?", "config": {"documents": "The hall opened in 1925."}}
        >>> get_assert("The hall opened in 1925.", context)["pass"]
        True

    Raises:
        ConfigError: the config has an unknown key or a value that makes no sense, or names an unknown judge or policy.
        InputError: output or documents cannot be read. For promptfoo the assertion has failed, with both as its reason.
    """
    try:
        config = _read_config(context.get("config") or {})
        messages = _chat(output)
        case = Case.of_run(
            {"messages": _messages(context.get("prompt"))},
            output if messages is None else messages,
            documents=list(_evidence(context, config)),
            turns=config.get("turns", "all"),
        )
        verdict = shared_grader(config.get("judge"), config.get("policy")).grade(case)
        return _result(verdict, config.get("min_score"))
    except VistaGuardError as exc:
        # Of an exception promptfoo shows the last line first.
        exc.args = (" | ".join(" ".join(line.split()) for line in str(exc).splitlines()),)
        raise


def _read_config(options: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = sorted(set(options) - set(CONFIG))
    if unknown:
        raise ConfigError(f"the assertion's config has {', '.join(unknown)}; vista-guard reads {', '.join(CONFIG)}")
    config = {key: value for key, value in options.items() if value is not None}
    for key in ("judge", "policy"):
        if not isinstance(config.get(key, ""), str):
            raise _config_error(key, config[key], f"give the {key}'s name")
    if config.get("turns", "all") not in get_args(Turns):
        raise _config_error("turns", config["turns"], f"choose one of {', '.join(get_args(Turns))}")
    min_score = config.get("min_score", 0)
    if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
        raise _config_error("min_score", min_score, "give a number from 0 to 1")
    return config


def _config_error(key: str, value: object, then: str) -> ConfigError:
    return ConfigError(f"{key} in the assertion's config is {value!r}; {then}")


def _evidence(context: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[Document]:
    for name in ("vars", "metadata"):
        values = context.get(name) or {}
        for key in EVIDENCE:
            value = values.get(key)
            yield from _documents(f"{key} in {name}", _read_documents(value) if key == "documents" else value)
    yield from _documents("documents in the assertion's config", config.get("documents"))


def _documents(where: str, value: Any) -> tuple[Document, ...]:
    """The documents of one place. InputError: they cannot be read, or promptfoo should have read them and did not."""
    from vista_guard.reading.chat_json import given_documents

    if value is None or (isinstance(value, str) and not value.strip()):
        return ()
    try:
        documents = given_documents(value)
    except InputError as exc:
        raise InputError(f"{where}: {exc}") from exc
    for document in documents:
        if UNREAD.fullmatch(document.text.strip()):
            raise InputError(
                f"{where} is {document.text.strip()!r}, which promptfoo has not read; make it the whole value of the test's var "
                "`documents` or `context`"
            )
    return documents


def _read_documents(documents: Any) -> Any:
    """A file of documents, in JSON or YAML, reaches an assertion as one text in JSON."""
    content = _json(documents)
    whole = isinstance(content, list) and all(
        isinstance(item, str) or (isinstance(item, dict) and "text" in item) for item in content
    )
    return content if whole else documents


def _messages(prompt: Any) -> list[Any]:
    if not isinstance(prompt, str):
        return list(prompt or ())
    chat = _chat(prompt)
    if chat is not None:
        return chat
    return [{"role": "user", "content": prompt}] if prompt.strip() else []


def _chat(text: Any) -> list[Any] | None:
    """Reads chat messages written as JSON, as from providers that run a program. None: it is something else."""
    messages = _json(text)
    if (
        isinstance(messages, list)
        and messages
        and all(isinstance(message, dict) and "role" in message for message in messages)
    ):
        return messages
    return None


def _json(text: Any) -> Any:
    if not isinstance(text, str):
        return None
    try:
        return read_json(text)
    except ValueError:
        return None


def _result(verdict: Verdict, min_score: float | None) -> dict[str, Any]:
    judged = verdict.score is not None
    scores = {"vista_score": verdict.score} if judged else {}
    return {
        "pass": bool(verdict.holds(min_score)),
        "score": verdict.score if judged else 0.0,
        "reason": verdict.details(),
        "namedScores": {**scores, "vista_not_judged": 0.0 if judged else 1.0},
        "componentResults": [_component(claim) for claim in verdict.claims],
    }


def _component(claim: JudgedClaim) -> dict[str, Any]:
    label = "not judged" if claim.label is None else f"{claim.label} {claim.confidence:.2f}"
    quotes = "".join(f' "{quote.text.strip()}"' for quote in claim.quotes)
    return {
        "pass": claim.safe,
        "score": 1.0 if claim.safe else 0.0,
        "reason": f"{label}: {claim.text} ({claim.reason}){quotes}",
    }


def serve(requests: Iterable[bytes], replies: TextIO) -> None:
    """Answers `promptfoo.mjs`: a line `{"id", "output", "context"}` by a line `{"id", "result"}` or `{"id", "error"}`."""
    writing = Lock()

    def answer(request: Mapping[str, Any]) -> None:
        reply = json.dumps(_answer_request(request))
        with writing:
            print(reply, file=replies, flush=True)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for line in requests:
            pool.submit(answer, json.loads(line))


def _answer_request(request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"id": request["id"], "result": get_assert(request.get("output"), request["context"])}
    except Exception as exc:  # one case must not end the process that judges the others
        if not isinstance(exc, VistaGuardError):
            traceback.print_exc()
        return {"id": request["id"], "error": f"{type(exc).__name__}: {exc}"}


def main(arguments: list[str]) -> None:
    """Writes the assertion in JavaScript to the named file, or serves it."""
    if len(arguments) != 1:
        sys.exit("name the file to write: python -m vista_guard.integrations.evals.promptfoo grounded.mjs")
    if arguments != ["--serve"]:
        script = Path(__file__).with_suffix(".mjs").read_text(encoding="utf-8")
        Path(arguments[0]).write_text(script, encoding="utf-8")
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # promptfoo gets Ctrl-C too, and closes stdin when it ends
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as replies:
        os.dup2(2, 1)  # keeps other prints out of the replies
        serve(sys.stdin.buffer, replies)


if __name__ == "__main__":
    main(sys.argv[1:])
