"""The pytest plugin: `assert_grounded` in tests of an agent. Loads nothing of the guard before a test asks for it.

Options, in the settings of pytest or on its command line:

- `vista_guard_judge`, `--vista-guard-judge`: the judge's name; from vista-guard's settings when not given.
- `vista_guard_policy`, `--vista-guard-policy`: the policy that answers must pass.
- `vista_guard_unjudged`, `--vista-guard-unjudged`: what becomes of a test without any judgement: `fail` (as it is) or `skip`.

Fixtures: `assert_grounded`, `aassert_grounded` for async tests, and `vista_guard_grader`, to override for a guard of your own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from vista_guard.integrations.evals.grader import Grader, NotJudged, Verdict

UNJUDGED = ("fail", "skip")

_OPTIONS = {
    "judge": "who judges answers, by name: embedded, openai:MODEL, …",
    "policy": "what answers must pass: monitor, balanced, strict",
    "unjudged": "a test of which nothing was judged: fail (as it is) or skip",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, for the command line and for settings files."""
    group = parser.getgroup("vista-guard", "assert_grounded: whether answers are what their evidence carries")
    for name, help_text in _OPTIONS.items():
        group.addoption(f"--vista-guard-{name}", metavar=name.upper(), default=None, help=help_text)
        parser.addini(f"vista_guard_{name}", help_text)


@pytest.fixture(scope="session")
def vista_guard_grader(pytestconfig: pytest.Config) -> Iterator[Grader]:
    """The session's grader. Override it, in a conftest, to test with a guard of your own."""
    from vista_guard.integrations.evals.grader import Grader

    grader = Grader.from_settings(judge=_option(pytestconfig, "judge"), policy=_option(pytestconfig, "policy"))
    yield grader
    grader.close()


@pytest.fixture
def assert_grounded(vista_guard_grader: Grader, pytestconfig: pytest.Config) -> Callable[..., Verdict]:
    """Fails the test unless the evidence supports the answer: `Grader.assert_grounded`.

    Example:
        def test_hours(assert_grounded):
            assert_grounded(agent("When are you open?"), documents=HOURS, conversation="When are you open?")
    """
    from vista_guard.integrations.evals.grader import NotJudged

    skips = _skips(pytestconfig)

    def asserting(answer: object, **options: Any) -> Verdict:
        __tracebackhide__ = True
        try:
            return vista_guard_grader.assert_grounded(answer, **options)
        except NotJudged as exc:
            _skip(exc, skips)
            raise

    return asserting


@pytest.fixture
def aassert_grounded(vista_guard_grader: Grader, pytestconfig: pytest.Config) -> Callable[..., Awaitable[Verdict]]:
    """Async version of `assert_grounded`."""
    from vista_guard.integrations.evals.grader import NotJudged

    skips = _skips(pytestconfig)

    async def asserting(answer: object, **options: Any) -> Verdict:
        __tracebackhide__ = True
        try:
            return await vista_guard_grader.aassert_grounded(answer, **options)
        except NotJudged as exc:
            _skip(exc, skips)
            raise

    return asserting


def _skip(error: NotJudged, skips: bool) -> None:
    __tracebackhide__ = True
    if skips:
        pytest.skip(error.verdict.reason)


def _option(config: pytest.Config, name: str) -> str | None:
    return config.getoption(f"vista_guard_{name}") or config.getini(f"vista_guard_{name}") or None


def _skips(config: pytest.Config) -> bool:
    chosen = _option(config, "unjudged") or UNJUDGED[0]
    if chosen not in UNJUDGED:
        raise pytest.UsageError(f"vista_guard_unjudged is {chosen!r}; choose one of {', '.join(UNJUDGED)}")
    return chosen == "skip"
