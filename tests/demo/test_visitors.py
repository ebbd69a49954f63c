"""Visitors of the demo: real turns, judged by the embedded judge, with the texts that the dashboard shows."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from threading import Event

from vista_guard.demo.museum import TOPICS, VISIT
from vista_guard.demo.visitors import conversations, guarded, talk
from vista_guard.stores.reports import ReportReader


def test_the_first_visit_is_the_demos_own_and_all_of_it_is_kept(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        talk(guard, Event(), at_once=1, visits=1)
    reader = ReportReader(f"sqlite:///{tmp_path / 'reports.sqlite'}")
    turns = reader.conversation("visit-1").rows
    reader.close()
    assert [turn.report.decision.action for turn in turns] == [step.action for step in VISIT]
    assert [turn.texts and turn.texts.user_text for turn in turns] == [step.question for step in VISIT]
    assert turns[4].texts is not None
    assert turns[4].texts.draft == VISIT[4].drafts[1]


def test_who_is_told_to_end_says_nothing_more(tmp_path: Path) -> None:
    end = Event()
    end.set()
    with guarded(tmp_path) as guard:
        talk(guard, end)
    assert not (tmp_path / "reports.sqlite").exists()


def test_conversations_differ_and_come_in_the_same_order() -> None:
    first, again = (list(islice(conversations(), 6)) for _ in range(2))
    assert first == again
    assert len({topics for _, topics in first}) == 6
    assert len({topic.question for topic in TOPICS}) == len(TOPICS)
