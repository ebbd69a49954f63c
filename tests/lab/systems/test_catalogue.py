"""Systems by their names: what there is, what each takes, and what is said where one cannot be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lab.systems.rows import museum, run
from vista_guard.errors import ConfigError
from vista_guard.judges.model import ModelJudge, ModelOptions, OpenAIChat
from vista_guard.testing import ScriptedJudge
from vista_lab.logs.source import Task
from vista_lab.systems.catalogue import SystemOrder, make_system, names, systems
from vista_lab.systems.protocol import with_cost

URL = "openai:m@http://127.0.0.1:9/v1"
OF_A_MODEL = ("zero-shot", "factscore", "factscore+split", "llm-judge", "fact-check", "fact-check+evidence")
OPTIONS = {"majority": {"label": "VERIFIED"}}


def told(name: str, **given: Any) -> str:
    """What is said of a system that cannot be had."""
    with pytest.raises(ConfigError) as caught:
        make_system(name, **given)
    return str(caught.value)


def test_there_are_these() -> None:
    assert names() == [
        "vista", "vista+ctx", "no-ac", "no-ac+ctx", "no-history", "zero-shot", "factscore", "factscore+split", "llm-judge",
        "fact-check", "fact-check+evidence", "majority", "overlap", "oasis", "deepeval:METRIC", "ragas:METRIC",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["visat", "", "vista:x", "deepeval", "trulens:X"])
def test_an_unknown_name_is_told_the_known_ones(name: str) -> None:
    assert told(name) == f"system {name!r} is unknown; the systems are {', '.join(names())}"


@pytest.mark.parametrize("name", systems())
def test_every_system_says_who_it_is_and_judges_nothing_before_it_is_asked(name: str) -> None:
    system = make_system(name, judge=URL, options=OPTIONS.get(name))
    assert system.info.name == name
    assert system.info.options.get("task") == ("unverifiable" if name == "llm-judge" else None)
    assert system.why_exhausted is None
    assert set(system.info.prompts) == set(system.info.shots)


def test_prompts_and_shots_are_told() -> None:
    told = {name: dict(make_system(name, judge=URL).info.shots) for name in ("vista", *OF_A_MODEL)}
    assert told == {
        "vista": {"decompose": 6, "judge": 1},
        "zero-shot": {"decompose": 0, "judge": 0},
        "factscore": {"decompose": 8, "verify": 4},
        "factscore+split": {"decompose": 8, "verify": 4},
        "llm-judge": {"turn": 0},
        "fact-check": {"turn": 4},
        "fact-check+evidence": {"turn": 3},
    }
    staged = make_system("vista", judge=URL, model={"strategy": "per_claim"})
    assert dict(staged.info.shots) == {"decompose": 6, "verify": 6, "categorize": 9}
    assert make_system("vista", judge="embedded").info.prompts == {}


def test_no_two_systems_judge_in_the_same_way() -> None:
    infos = [make_system(name, judge=URL, options=OPTIONS.get(name)).info for name in systems()]
    ways = [info.model_copy(update={"name": ""}) for info in infos]
    assert all(one not in ways[:number] for number, one in enumerate(ways))


@pytest.mark.parametrize("judge", ["embedded", f"cascade:embedded,{URL}", ScriptedJudge({})])
@pytest.mark.parametrize("name", OF_A_MODEL)
def test_what_asks_a_model_needs_one(name: str, judge: object) -> None:
    shown = "scripted" if isinstance(judge, ScriptedJudge) else judge
    assert told(name, judge=judge).startswith(f"system {name} needs a chat model as judge, not {shown!r}. Name a model")


@pytest.mark.parametrize("name", OF_A_MODEL[:4])
def test_a_model_judge_that_is_an_object_lends_its_model(name: str) -> None:
    judge = ModelJudge(OpenAIChat("m", base_url="http://127.0.0.1:9/v1"), ModelOptions(assistant_name="guide"))
    by_name = make_system(name, judge=URL, model={"assistant_name": "guide"})
    assert make_system(name, judge=judge).info == by_name.info


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("vista", {"options": {"threshold": "1"}}, "system vista has no option 'threshold'; it takes none"),
        ("overlap", {"options": {"label": "1"}}, "has no option 'label'; it takes threshold, source, fitted on"),
        ("overlap", {"options": {"threshold": "half"}}, "overlap is 'half'; it must be a share of words in [0, 1]"),
        ("overlap", {"options": {"threshold": "nan"}}, "overlap is 'nan'"),
        ("majority", {}, "none is given: set label to one of VERIFIED, OUT_OF"),
        ("majority", {"options": {"label": "yes"}}, "label is 'YES'"),
        (
            "factscore",
            {"task": Task.CONTRADICTS},
            "the task 'contradicts'",
        ),
        ("overlap", {"task": Task.ABSTAINS}, "the task 'abstains'"),
        ("vista", {"context": "full"}, "context cannot be set for a system: choose vista or vista+ctx"),
        ("vista", {"store": "chroma"}, "store cannot be set"),
        ("vista+ctx", {"strict_reference": True}, "strict_reference forbids"),
        ("vista", {"jugde": "embedded"}, "there is no setting 'jugde'"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, given: dict[str, Any], said: str) -> None:
    assert said in told(name, **given)


def test_a_limit_on_cost_leaves_the_models_other_settings() -> None:
    model = {"assistant_name": "guide", "budget": {"turn": {"calls": 9}, "run": {"calls": 7}}}
    given = {"judge": URL, "model": model}
    assert with_cost(given, None) == given
    budget = {"turn": {"calls": 9}, "run": {"calls": 7, "cost": 2.0}}
    assert with_cost(given, 2.0) == {"judge": URL, "model": {"assistant_name": "guide", "budget": budget}}
    assert with_cost({}, 2.0) == {"model": {"budget": {"run": {"cost": 2.0}}}}
    priced = {"assistant_name": "guide", "prices": {"m": {"input": 1.0, "output": 1.0}}}
    order = SystemOrder("vista", settings={"judge": URL, "model": priced})
    assert order(max_cost=2.0).info == order().info


def test_contexts_of_the_environment_do_not_turn_one_system_into_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_CONTEXT", "full")
    seen = {name: make_system(name, judge="embedded").info.options["context"] for name in ("vista", "vista+ctx")}
    assert seen == {"vista": "none", "vista+ctx": "full"}


def test_where_a_threshold_is_from_is_told() -> None:
    assert make_system("overlap").info.options["source"] == "half of the words, fitted on nothing"
    given = make_system("overlap", options={"threshold": "0.6", "source": "our dev set"}).info
    assert (given.options["threshold"], given.options["source"]) == ("0.6", "our dev set")


def test_what_changes_a_verdict_is_told(tmp_path: Path) -> None:
    persona = tmp_path / "persona.yaml"
    persona.write_text("name: Mira\nfacts: [The assistant's name is Mira.]\n", encoding="utf-8")
    given: dict[str, Any] = {"judge": "embedded", "policy": "strict", "persona": persona, "limits": {"claims": 9}}
    plain, changed = make_system("vista", judge="embedded").info, make_system("vista", **given).info
    assert plain.options["policy"] == "monitor"
    assert {name: changed.options[name] for name in ("policy", "limits.claims")} == {
        "policy": "strict",
        "limits.claims": "9",
    }
    assert "persona" in changed.options
    assert "persona" not in plain.options


def test_the_embedded_judge_runs_in_what_needs_no_model() -> None:
    (entry,) = museum(1)
    for name in ("vista", "vista+ctx", "no-ac", "no-ac+ctx", "no-history"):
        reports = run(make_system(name, judge="embedded"), [entry])
        assert [report.turn_index for report in reports] == [1, 3]
        assert not any(report.unchecked for report in reports)
