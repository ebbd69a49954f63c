"""Settings of dialogues: the source and form of the history, and help for the assistant. Pure.

KnowMT-Bench, §4.3 and §5. A setting has a name, such as `multi+rag=rounds+guard=strict`, in the manifest, in each line and in
the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vista_guard.errors import ConfigError

ORACLE = "oracle"
"""References that use the reference answers as documents: the best that retrieval could give."""
RAG = ("base", "last", "rounds", "all", "last@code")
"""Turns with retrieval, and its query (Table 3). `last@code` follows the authors' code: at every turn, with the sent prompts
as history."""
MITIGATIONS = ("simple", "summarize", "select", "self-refine")
"""Mitigations of the history at the last turn (Table 4)."""
NOISES = ("irrelevant", "irrelevant-error", "relevant-error")
"""Replacements of the turn before the last (Fig. 9)."""
GUARDED = ("history", "final")
BUDGETS = (256, 512, 1024, 2048)
"""Tokens of history at the last turn in the preset; the paper gives its own budgets only in a figure (Fig. 6)."""
CUTS = ("count", "drop")
"""An answer cut at the token limit counts as it is (App. G), or is no answer."""
PAPER = (
    "single", "multi", "multi+concat", "single+drift", "multi+drift", "single+rag=base",
    *(f"multi+rag={one}" for one in RAG[:4]), *(f"multi+mitigate={one}" for one in MITIGATIONS),
    *(f"multi+budget={one}" for one in BUDGETS),
)  # fmt: skip
"""Settings of the paper that need only questions with documents; `paper_settings` adds those that need a baseline."""


def paper_settings(baseline: str | None = None, models: Sequence[str] = ()) -> list[str]:
    """The paper's settings by name; a baseline run adds noise (Fig. 9) and the histories of its models (Fig. 8).

    Args:
        baseline: folder of a judged run of the same set in `single` and `multi`.
        models: the models of that run.

    Examples:
        >>> paper_settings("runs/k", ["openai:a"])[-1]
        'multi+concat+noise=relevant-error'
    """
    if baseline is None:
        return [*PAPER]
    swaps = [f"multi+swap={baseline}:{model}" for model in models] if len(models) > 1 else []
    return [*PAPER, *swaps, *(f"{form}+noise={kind}" for form in ("multi", "multi+concat") for kind in NOISES)]


@dataclass(frozen=True)
class DialogueSetting:
    """One setting of dialogues.

    Attributes:
        history: `single`: the last question alone. `multi`: turn by turn, the assistant's own answers as history.
        drift: asks a question of another domain first (Table 20).
        swap: folder of a run whose answers are the history; only the last question is asked (Fig. 8).
        static: a log whose answers are the history, in the same way.
        noise: one of `NOISES`: the model's history in a baseline run, with another turn before the last question.
        concat: puts the history and the last question into one message (Fig. 7).
        budget: most tokens of history at the last turn: its latest whole rounds; None: all (Fig. 6).
        rag: one of `RAG`; None: no documents.
        mitigate: one of `MITIGATIONS`, at the last turn.
        guard: policy of the guard before the assistant; its delivered text becomes history and is scored.
        guard_at: `history`: at all turns but the last; `final`: at the last; empty: at all.
    """

    history: str
    drift: bool = False
    swap: str | None = None
    static: str | None = None
    noise: str | None = None
    concat: bool = False
    budget: int | None = None
    rag: str | None = None
    mitigate: str | None = None
    guard: str | None = None
    guard_at: str = ""

    @property
    def name(self) -> str:
        """The name that `read_setting` reads."""
        parts = {
            "drift": self.drift,
            f"swap={self.swap}": self.swap,
            f"static={self.static}": self.static,
            "concat": self.concat,
            f"noise={self.noise}": self.noise,
            f"budget={self.budget}": self.budget,
            f"rag={self.rag}": self.rag,
            f"mitigate={self.mitigate}": self.mitigate,
            f"guard={self.guard}{'@' if self.guard_at else ''}{self.guard_at}": self.guard,
        }
        return "+".join([self.history, *(part for part, present in parts.items() if present)])

    @property
    def others(self) -> str | None:
        """Source of answers by others that form the history; None if it is the assistant's own."""
        return self.swap or self.static or (f"noise={self.noise}" if self.noise else None)

    def guards(self, *, last: bool) -> bool:
        """True if this turn is guarded."""
        return self.guard is not None and self.guard_at in ("", "final" if last else "history")

    def retrieves(self, *, last: bool) -> bool:
        """True if documents are retrieved at this turn."""
        return self.rag is not None and (last or self.rag in ("rounds", "all", "last@code"))


def read_setting(name: str) -> DialogueSetting:
    """A setting by its name.

    Raises:
        ConfigError: a part is unknown, or parts exclude each other; names them.

    Examples:
        >>> read_setting("multi+rag=rounds+guard=strict@final").guard_at
        'final'
    """
    history, *parts = [part.strip() for part in name.split("+")]
    if history not in ("single", "multi"):
        raise ConfigError(f"setting {name!r} begins with {history!r}; begin with single or multi")
    options: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if key not in ("drift", "swap", "static", "noise", "concat", "budget", "rag", "mitigate", "guard"):
            known = "drift, swap=RUN, static=LOG, noise=KIND, concat, budget=N, rag=WHEN, mitigate=HOW and guard=POLICY"
            raise ConfigError(f"setting {name!r} has {part!r}; known are {known}")
        if key in options:
            raise ConfigError(f"setting {name!r} names {key} twice")
        if bool(value) == (key in ("drift", "concat")) or bool(equals) != bool(value):
            raise ConfigError(f"setting {name!r} has {part!r}; {key} takes {'no value' if value else 'a value'}")
        options[key] = value
    guard, _, place = options.get("guard", "").partition("@")
    _check_value(name, "rag", options.get("rag"), RAG)
    _check_value(name, "noise", options.get("noise"), NOISES)
    _check_value(name, "mitigate", options.get("mitigate"), MITIGATIONS)
    _check_value(name, "guard=POLICY@", place or None, GUARDED)
    budget = options.get("budget")
    if budget is not None and not (budget.isdigit() and int(budget) > 0):
        raise ConfigError(f"setting {name!r} has budget={budget}; give a number of tokens above 0")
    setting = DialogueSetting(
        history,
        drift="drift" in options,
        swap=options.get("swap"),
        static=options.get("static"),
        noise=options.get("noise"),
        concat="concat" in options,
        budget=None if budget is None else int(budget),
        rag=options.get("rag"),
        mitigate=options.get("mitigate"),
        guard=guard or None,
        guard_at=place,
    )
    if why := _why_impossible(setting):
        raise ConfigError(f"setting {name!r}: {why}")
    return setting


def _check_value(name: str, part: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise ConfigError(f"setting {name!r} has {part} {value!r}; known are {', '.join(known)}")


def _why_impossible(one: DialogueSetting) -> str:
    alone = one.history == "single" and not one.drift
    if alone and (one.concat or one.budget or one.others or one.mitigate):
        return "one question has no history; begin with multi"
    if one.history == "single" and (one.rag not in (None, "base") or one.guard_at == "history"):
        return "one question has no turns before it: rag=base and guard=POLICY are what it can have"
    if sum(map(bool, (one.swap, one.static, one.noise))) > 1:
        return "there is one history: take swap=RUN, static=LOG or noise=KIND"
    if one.others and (one.drift or one.rag not in (None, "base", "last") or one.guard_at == "history"):
        return "where others answered only the last question is asked; take rag=base or last, guard=POLICY@final, and no drift"
    if one.mitigate and (one.concat or one.budget or one.rag):
        return "mitigate changes the last prompt itself; leave concat, budget and rag out"
    return ""
