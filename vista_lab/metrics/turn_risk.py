"""Fitting the turn's risk: labelled turns of one judge become the weights of `TurnRisk`, none of them negative."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vista_guard._extras import require
from vista_guard.policy.risk import STEP, TurnAlarm, TurnGroup
from vista_guard.policy.turn_risk import Signals, TurnRisk, signals
from vista_guard.types import Outcome

FOLDS = 10
LEAST = 30
"""Fewest turns of either kind, fine or not, that a fit is made from."""
FLAG_RATE, BLOCK_RATE = 0.06, 0.01
"""Shares of fine turns that "auto" may flag and block by risk."""
_PENALTY = 1e-3
"""Penalty on the squared weights: redundant signals share the weight."""


@dataclass(frozen=True)
class RatedTurn:
    """A judged turn, and whether it says only what its evidence carries."""

    outcomes: tuple[Outcome, ...]
    evidence_missing: bool
    fine: bool
    group: str
    """The unit that must not be split between folds: a conversation, a document."""
    source: str = ""
    """Turns of one source weigh the same together as those of any other."""

    @property
    def signals(self) -> Signals | None:
        """The features of the risk; None when nothing was judged."""
        return signals(self.outcomes, evidence_missing=self.evidence_missing)


@dataclass(frozen=True)
class Fit:
    """A fitted risk, and its turns' risks by fits that had not seen their group."""

    risk: TurnRisk
    turns: tuple[RatedTurn, ...]
    unseen: tuple[float, ...]

    def caught(self, limit: float) -> float:
        """Share of the turns that are not fine, hold something against them, and reach the limit with their risk."""
        bad = [
            risk >= limit and turn.signals is not None and turn.signals.worst > 0
            for turn, risk in zip(self.turns, self.unseen, strict=True)
            if not turn.fine
        ]
        return sum(bad) / len(bad)

    @property
    def groups(self) -> tuple[TurnGroup, ...]:
        """The fine turns of each source."""
        pairs = list(zip(self.turns, self.unseen, strict=True))
        sources = dict.fromkeys(turn.source for turn in self.turns if turn.fine and not turn.evidence_missing)
        return tuple(fine_turns([pair for pair in pairs if pair[0].source == name], name) for name in sources)


def why_not(turns: Sequence[RatedTurn]) -> str | None:
    """Reason that no risk can be fitted to these turns; None when it can."""
    judged = [turn for turn in turns if turn.signals is not None]
    fine, conversations = sum(turn.fine for turn in judged), {turn.group for turn in judged}
    if min(fine, len(judged) - fine) < LEAST:
        return f"it takes {LEAST} fine and {LEAST} other turns, and there are {fine} and {len(judged) - fine}"
    if len(conversations) < 2 * FOLDS:
        return f"it takes turns of {2 * FOLDS} conversations, and there are {len(conversations)}"
    return None


def fit(turns: Sequence[RatedTurn], name: str) -> Fit:
    """A logistic regression with weights of one sign, at even odds of fine and other turns, cross-fitted over groups.

    `turns` are of one judge, and `name` describes them; turns without a judged claim are left out. Raises ConfigError:
    scikit-learn is not installed.
    """
    require("fitting the turn's risk", "sklearn", extra="evaluation")
    judged = [(turn, features) for turn in turns if (features := turn.signals) is not None]
    judged_turns = tuple(turn for turn, _ in judged)
    rows, bad = np.array([features for _, features in judged]), np.array([not turn.fine for turn in judged_turns])
    unseen = _cross_fit(judged_turns, rows, bad)
    intercept, *weights = _weights(rows, bad, _balance(judged_turns))
    risk = TurnRisk(intercept=intercept, **dict(zip(Signals._fields, weights, strict=True)), source=name)
    draft = Fit(risk, judged_turns, tuple(unseen))
    limits = {"flag": _limit(draft.groups, FLAG_RATE), "block": _limit(draft.groups, BLOCK_RATE)}
    return Fit(risk.model_copy(update=limits), judged_turns, tuple(unseen))


def fine_turns(rated: Sequence[tuple[RatedTurn, float]], source: str) -> TurnGroup:
    """The fine turns with their risks, as a risk table keeps them. Turns without any evidence are left out."""
    fine = [(turn, risk) for turn, risk in rated if turn.fine and not turn.evidence_missing]
    alarms = [TurnAlarm(_step(risk), _claims(turn)) for turn, risk in fine if turn.signals and turn.signals.worst > 0]
    claims = dict(sorted(Counter(_claims(turn) for turn, _ in fine).items()))
    return TurnGroup(source=source, claims=claims, alarms=tuple(sorted(alarms, reverse=True)))


def _limit(groups: Sequence[TurnGroup], rate: float) -> float | None:
    """The smallest risk that holds the rate for each group as a whole; None where one of them is too small."""
    limits = [group.threshold(rate, stratified=False) for group in groups]
    known = [limit for limit in limits if limit is not None]
    return max(known, default=None) if len(known) == len(limits) else None


def _cross_fit(turns: Sequence[RatedTurn], rows: NDArray[np.float64], bad: NDArray[np.bool_]) -> list[float]:
    from sklearn.model_selection import StratifiedGroupKFold  # type: ignore[import-not-found,import-untyped,unused-ignore]

    groups = [turn.group for turn in turns]
    balance, risks = _balance(turns), np.full(len(turns), np.nan)
    folds = StratifiedGroupKFold(min(FOLDS, len(set(groups))), shuffle=True, random_state=13)
    for seen, unseen in folds.split(rows, bad, groups):
        weights = _weights(rows[seen], bad[seen], balance[seen])
        risks[unseen] = _logistic(weights[0] + rows[unseen] @ np.array(weights[1:]))
    return [float(risk) for risk in risks]


def _weights(rows: NDArray[np.float64], bad: NDArray[np.bool_], balance: NDArray[np.float64]) -> list[float]:
    """Intercept and weights: least penalised log loss."""
    from scipy.optimize import minimize  # type: ignore[import-not-found,import-untyped,unused-ignore]

    share = balance / balance.sum()

    def cost(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = weights[0] + rows @ weights[1:]
        loss = share @ (np.logaddexp(0.0, scores) - bad * scores) + _PENALTY * weights[1:] @ weights[1:]
        off = (_logistic(scores) - bad) * share
        return float(loss), np.concatenate([[off.sum()], rows.T @ off + 2 * _PENALTY * weights[1:]])

    bounds = [(None, None), *[(0.0, None)] * rows.shape[1]]
    result = minimize(cost, np.zeros(rows.shape[1] + 1), jac=True, method="L-BFGS-B", bounds=bounds)
    return [round(float(weight), 4) for weight in result.x]


def _balance(turns: Sequence[RatedTurn]) -> NDArray[np.float64]:
    """Fine and other turns weigh the same, and so does each source within them."""
    cells = Counter((turn.source, turn.fine) for turn in turns)
    sources = Counter(fine for _, fine in cells)
    return np.array([1.0 / (cells[turn.source, turn.fine] * sources[turn.fine]) for turn in turns])


def _logistic(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-np.logaddexp(0.0, -scores))


def _claims(turn: RatedTurn) -> int:
    return sum(outcome.kind == "finding" for outcome in turn.outcomes)


def _step(risk: float) -> float:
    return int(risk * STEP) / STEP
