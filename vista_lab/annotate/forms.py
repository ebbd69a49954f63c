"""Forms: the texts that annotators read, their marks, and the measures of agreement. A form is data, in YAML or TOML.

Annotators mark an item as a whole: a turn, a pair, a document, a claim. It may have parts with marks of their own, such as the
claims of a turn. Each mark declares its level (item or part), its values, when it is needed, and its measures of agreement.
Each task has its forms in a folder `forms`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from vista_guard._mappings import read_mapping
from vista_guard.errors import ConfigError, InputError
from vista_guard.stores.reviewed import LONGEST_TEXT, Op
from vista_guard.types import Label
from vista_lab.files import reading
from vista_lab.metrics.agreement import Scale
from vista_lab.registry import additions

Value = str | float | tuple[str, ...]
"""The value of a mark: a choice or a text, a number, or several choices."""

RESERVED = ("id", "group", "study", "suggested")
"""Columns that all sheets have."""

SEVERAL = ";"
"""Separates several choices in one cell."""
NONE = "none"
"""None of several choices."""

MOST_CLAIMS = 500
"""Of one turn."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class Unit(StrEnum):
    """The unit that people mark."""

    CLAIM = "claim"
    TURN = "turn"
    PAIR = "pair"
    DOCUMENT = "document"
    PASSAGE = "passage"
    TEXT = "text"


class Level(StrEnum):
    """The place of a mark: the item, or each of its parts."""

    ITEM = "item"
    PART = "part"


class Measure(StrEnum):
    """A measure of agreement on a mark."""

    PERCENT = "percent"
    """Share of the cases on which all annotators agree, and on which each pair does."""
    COHEN = "cohen"
    """Cohen's kappa of each pair."""
    FLEISS = "fleiss"
    """Fleiss' kappa over the cases that everybody marked."""
    ALPHA = "alpha"
    """Krippendorff's alpha at the mark's level of measurement."""
    PEARSON = "pearson"
    """Pearson's r of each pair."""
    ICC = "icc"
    """Intraclass correlation ICC(2,1): two-way random effects, absolute agreement, one annotator."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


class Column(_Part):
    """A text that annotators read."""

    name: Name
    about: str = ""


class Choice(_Part):
    """One of a mark's values. `label` is the guard's label that it stands for; `aliases` are read as well."""

    value: str = Field(min_length=1)
    means: str = ""
    aliases: tuple[str, ...] = ()
    label: Label | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, raw: Any) -> Any:
        value = raw.get("value") if isinstance(raw, Mapping) else raw
        if isinstance(value, bool):
            raise ValueError("YAML reads yes, no, on and off as true and false; put the choice in quotes")
        return raw if isinstance(raw, Mapping) else {"value": raw}


class _Mark(_Part):
    name: Name
    of: tuple[Level, ...] = ()
    """Items, parts or both. Left out: the parts if the form has parts, else the item."""
    ask: str = ""
    needed: bool = True
    when: Mapping[str, tuple[str, ...]] = {}
    """Values of other marks for which it applies. For any other value it stays empty."""
    optional_when: Mapping[str, tuple[str, ...]] = {}
    """Values of other marks, including the item's, for which it may stay empty: a discarded item needs no further
    marks."""
    agreement: tuple[Measure, ...] = ()
    scale: Scale | None = None
    """For Krippendorff's alpha. Left out: nominal for choices, interval for numbers."""

    @field_validator("of", mode="before")
    @classmethod
    def _one_or_both(cls, raw: Any) -> Any:
        return (raw,) if isinstance(raw, str) else raw

    @property
    def numeric(self) -> bool:
        """True if its values are numbers, which allows means and correlations."""
        return False

    @property
    def measured_on(self) -> Scale:
        return self.scale or "nominal"


class _Chosen(_Mark):
    choices: tuple[Choice, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        known: dict[str, str] = {}
        for choice in self.choices:
            for word in {_plain(alias) for alias in (choice.value, *choice.aliases)}:
                if known.setdefault(word, choice.value) != choice.value or SEVERAL in word:
                    raise ValueError(f"mark {self.name!r} has the word {word!r} twice, or {SEVERAL!r} in it")
        if len({choice.value for choice in self.choices}) < len(self.choices):
            raise ValueError(f"mark {self.name!r} has a choice twice")
        return self

    @property
    def values(self) -> tuple[str, ...]:
        """The values in the form's order, which an ordinal scale uses."""
        return tuple(choice.value for choice in self.choices)

    def find(self, word: str) -> Choice | None:
        """The choice that a word stands for, whatever its case, hyphens and underscores."""
        wanted = _plain(word)
        return next((choice for choice in self.choices if wanted in map(_plain, (choice.value, *choice.aliases))), None)

    def _value_of(self, text: str) -> str:
        choice = self.find(text)
        if choice is None:
            raise ValueError(f"give {', '.join(self.values)}")
        return choice.value


class ChoiceMark(_Chosen):
    """One of several choices."""

    kind: Literal["choice"]

    @property
    def numeric(self) -> bool:
        """True if all choices are numbers."""
        return all(re.fullmatch(r"-?\d+(\.\d+)?", value) for value in self.values)

    def read(self, text: str) -> Value:
        """The value of a cell. Raises ValueError: the text is no value of this mark; names the values."""
        return self._value_of(text)


class ChoicesMark(_Chosen):
    """Any number of several choices; none of them in a row with other marks, if not needed."""

    kind: Literal["choices"]

    @property
    def options(self) -> tuple[str, ...]:
        """The values, and a word for none of them where that is an answer."""
        return self.values if self.needed or self.find(NONE) else (*self.values, NONE)

    def read(self, text: str) -> Value:
        """The values of a cell, in the form's order."""
        words = [word for word in text.split(SEVERAL) if word.strip()]
        if len(words) == 1 and _plain(words[0]) == NONE and NONE in self.options:
            return ()
        try:
            chosen = {self._value_of(word) for word in words}
        except ValueError as exc:
            raise ValueError(f"{exc}; several have {SEVERAL!r} between them") from exc
        return tuple(value for value in self.values if value in chosen)


class NumberMark(_Mark):
    """A number in a range."""

    kind: Literal["number"]
    low: float = Field(allow_inf_nan=False)
    high: float = Field(allow_inf_nan=False)
    whole: bool = True

    @model_validator(mode="after")
    def _range(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"mark {self.name!r} has low {self.low:g} and high {self.high:g}; low must be smaller")
        return self

    @property
    def numeric(self) -> bool:
        return True

    @property
    def measured_on(self) -> Scale:
        return self.scale or "interval"

    def read(self, text: str) -> Value:
        """The number in a cell; a comma counts as a decimal point."""
        try:
            number = float(text.replace(",", ".")) if "." not in text else float(text)
        except ValueError:
            number = math.nan
        if not self.low <= number <= self.high or (self.whole and not number.is_integer()):
            kind = "a whole number" if self.whole else "a number"
            raise ValueError(f"give {kind} from {self.low:g} to {self.high:g}")
        return number


class TextMark(_Mark):
    """Free text."""

    kind: Literal["text"]
    needed: bool = False

    def read(self, text: str) -> Value:
        if len(text) > LONGEST_TEXT:
            raise ValueError(f"{len(text):,} characters; at most {LONGEST_TEXT:,} are kept")
        return text


Mark = ChoiceMark | ChoicesMark | NumberMark | TextMark


class Revision(_Part):
    """Lets annotators change the parts themselves: confirm, edit, delete and add claims.

    `by` names the mark of the operation, `words` that of the claim's new text. `rows` are empty rows for added claims.
    `none` in the item's own `by` cell says that it has no parts at all.
    """

    by: Name
    words: Name
    rows: int = Field(default=3, ge=1, le=20)
    none: str = "no claims"


class Parts(_Part):
    """The parts of an item. `text` is the column with the part itself."""

    unit: Unit
    text: Name = "text"
    columns: tuple[Column, ...] = ()
    revise: Revision | None = None


class LayoutColumn(_Part):
    """A column of a sheet: its head, and the columns and marks in it. Of several, at most one has a value in a row."""

    head: str = Field(min_length=1)
    of: tuple[Name, ...] = Field(min_length=1)


class Layout(_Part):
    """The columns of a form's sheet as tab-separated values, as a paper prints them; `id` is added as the last.

    `item` marks the item's own row in the column of the parts' names; with `item_last` that row is below the parts.
    """

    columns: tuple[LayoutColumn, ...] = Field(min_length=1)
    item: str = ""
    item_last: bool = False


class Form(_Part):
    """The columns that annotators read and the marks that they make. See `load_form`.

    Raises ValidationError: a mark refers to something that the form lacks, or has a measure that its values don't allow.
    """

    name: Name
    title: str = Field(min_length=1)
    source: str = ""
    """Origin of the form: a paper with its section."""
    guidelines: str = Field(min_length=1)
    item: Unit
    columns: tuple[Column, ...] = Field(min_length=1)
    parts: Parts | None = None
    marks: tuple[Annotated[Mark, Field(discriminator="kind")], ...] = Field(min_length=1)
    layout: Layout | None = None
    """Layout of tab-separated sheets; None for the default one."""

    @cached_property
    def part_columns(self) -> tuple[str, ...]:
        """Columns of a part, its own text first."""
        if self.parts is None:
            return ()
        return tuple(dict.fromkeys((self.parts.text, *(column.name for column in self.parts.columns))))

    @property
    def revision(self) -> Revision | None:
        """Rules for changing the parts; None if annotators don't."""
        return None if self.parts is None else self.parts.revise

    def marks_of(self, level: Level) -> tuple[Mark, ...]:
        """The marks of items, or of their parts."""
        default = (Level.ITEM,) if self.parts is None else (Level.PART,)
        return tuple(mark for mark in self.marks if level in (mark.of or default))

    def mark(self, name: str) -> Mark:
        """The mark of this name. Raises KeyError: the form has none."""
        found = next((mark for mark in self.marks if mark.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    @property
    def labels(self) -> ChoiceMark | None:
        """The mark whose choices stand for the guard's labels."""
        chosen = (mark for mark in self.marks if isinstance(mark, ChoiceMark))
        return next((mark for mark in chosen if all(choice.label is not None for choice in mark.choices)), None)

    def word_for(self, label: Label) -> str:
        """The form's word for a label of the guard; the label itself where it has none."""
        known = self.labels.choices if self.labels is not None else ()
        return next((choice.value for choice in known if choice.label is label), label.value)

    @model_validator(mode="after")
    def _names(self) -> Self:
        columns = [column.name for column in self.columns] + list(self.part_columns)
        marks = [mark.name for mark in self.marks]
        unit = [] if self.parts is None else [self.parts.unit.value]
        names = [*columns, *marks, *unit]
        twice = next((name for name in names if names.count(name) > 1 or name in RESERVED), None)
        if twice is not None:
            raise ValueError(f"the name {twice!r} is used twice, or reserved ({', '.join(RESERVED)}); rename it")
        for mark in self.marks:
            if Level.PART in mark.of and self.parts is None:
                raise ValueError(f"mark {mark.name!r} has on: part, and the form has no parts")
            self._check_condition(mark, mark.when)
            self._check_condition(mark, mark.optional_when)
            _check_measures(mark)
        self._check_revision()
        self._check_layout(names)
        return self

    def _check_layout(self, names: Sequence[str]) -> None:
        if self.layout is None:
            return
        placed = [name for column in self.layout.columns for name in column.of]
        odd = next((name for name in (*placed, *names) if placed.count(name) != 1 or name not in names), None)
        if odd is not None or self.revision is not None:
            raise ValueError(
                f"layout has {odd!r} {placed.count(str(odd))} times; it must place {', '.join(names)} once each"
            )
        if self.parts is not None and (self.parts.unit.value not in self.layout.columns[0].of or not self.layout.item):
            raise ValueError(
                f"layout's first column must hold {self.parts.unit}, and layout.item name the item's own row"
            )

    def _check_condition(self, mark: Mark, condition: Mapping[str, tuple[str, ...]]) -> None:
        for name, values in condition.items():
            other = next((one for one in self.marks if one.name == name), None)
            if not isinstance(other, _Chosen) or other is mark:
                raise ValueError(f"mark {mark.name!r} depends on {name!r}, which is not another mark with choices")
            odd = next((value for value in values if value not in other.values), None)
            if odd is not None:
                raise ValueError(f"mark {mark.name!r} depends on {name} = {odd!r}; it takes {', '.join(other.values)}")

    def _check_revision(self) -> None:
        revise = self.revision
        if revise is None:
            return
        by = next((mark for mark in self.marks if mark.name == revise.by), None)
        if not isinstance(by, ChoiceMark) or {*by.values} != {*map(str, Op)}:
            raise ValueError(f"parts.revise.by is {revise.by!r}; it must name a choice mark with {', '.join(Op)}")
        if not any(mark.name == revise.words and isinstance(mark, TextMark) for mark in self.marks):
            raise ValueError(f"parts.revise.words is {revise.words!r}; it must name a mark of kind text")
        if self.item is not Unit.TURN or self.labels is None:
            raise ValueError("only claims of a turn can be revised, and one mark's choices need the guard's labels")


@dataclass(frozen=True)
class Part:
    """A part of an item, with its texts by column. `hint` is shown beside it to annotators who are not blind; `place` is its
    first character in the turn, and the one after its last."""

    id: str
    texts: Mapping[str, str]
    hint: str = ""
    place: tuple[int, int] | None = None


@dataclass(frozen=True)
class Item:
    """The unit that one person marks at once. Intervals of agreement resample whole `group`s, such as conversations.

    `annotators` are those who mark it; if empty, everybody does.
    """

    id: str
    texts: Mapping[str, str]
    parts: tuple[Part, ...] = ()
    group: str = ""
    annotators: tuple[str, ...] = ()

    def is_for(self, annotator: str) -> bool:
        """True if this annotator marks it."""
        return not self.annotators or annotator in self.annotators


@dataclass(frozen=True)
class Answers:
    """One annotator's marks on an item, and on its parts by id; parts that they added come last, some with `places` in the
    turn."""

    item: Mapping[str, Value]
    parts: Mapping[str, Mapping[str, Value]]
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def load_form(name: str | Path) -> Form:
    """A shipped form by its name, or a form from a file.

    Raises:
        ConfigError: the name is unknown, or the file is not a form: names the file, the place in it, and the fault.

    Examples:
        >>> load_form("desiderata").item.value
        'document'
    """
    path = Path(name)
    if path.suffix.lower() in (".yaml", ".yml", ".toml"):
        return _read_form(path)
    if str(name) not in form_names():
        raise ConfigError(
            f"form {str(name)!r} is unknown; there are {', '.join(form_names())}, or give a .yaml or .toml file"
        )
    with as_file(_shipped()[str(name)]) as shipped:
        return _read_form(shipped)


def form_names() -> list[str]:
    """Names of the shipped forms.

    Examples:
        >>> form_names()[:5]
        ['desiderata', 'knowmt_facts', 'knowmt_pairs', 'knowmt_sequences', 'knowmt_statements']
    """
    return sorted(_shipped())


def _shipped() -> dict[str, Traversable]:
    """The files of the tasks' forms, by name."""
    folders = (files(task.forms).joinpath("forms") for task in additions() if task.forms)
    shipped = (file for folder in folders for file in folder.iterdir() if file.name.endswith(".yaml"))
    return {file.name.removesuffix(".yaml"): file for file in shipped}


def _read_form(path: Path) -> Form:
    with reading(f"form {path}", error=ConfigError):
        return Form.model_validate(read_mapping(path))


def applies(mark: Mark, values: Mapping[str, Value]) -> bool:
    """True if a mark applies, given the values of the other marks."""
    return all(_meets(values.get(name), wanted) for name, wanted in mark.when.items())


def is_needed(mark: Mark, values: Mapping[str, Value], item: Mapping[str, Value]) -> bool:
    """True if a mark is needed, given the values of the other marks and of the item's own."""
    around = {**item, **values}
    return mark.needed and not any(_meets(around.get(name), wanted) for name, wanted in mark.optional_when.items())


def display(value: Value) -> str:
    """A value as text for cells and pages."""
    if isinstance(value, tuple):
        return f"{SEVERAL} ".join(value) or NONE
    return f"{value:g}" if isinstance(value, float) else value


def check_values(
    marks: Sequence[Mark], values: Mapping[str, Value], where: str, item: Mapping[str, Value] | None = None
) -> None:
    """Checks that all needed marks have values, and that no other one has. `item` has the marks of a part's item.

    Raises InputError: a value is missing or does not apply; names the place and the mark.
    """
    for mark in marks:
        present = values.get(mark.name) not in (None, "", ())
        if applies(mark, values):
            if not present and is_needed(mark, values, item or {}):
                raise InputError(f"{where} has no {mark.name}; {mark.ask or 'give it'}")
        elif present:
            raise InputError(f"{where} has {mark.name}, which does not apply to it; remove it")


def check_answers(form: Form, item: Item, answers: Answers) -> None:
    """Checks that an item has all its marks.

    Raises InputError: a mark is missing, or does not apply: names the part and the mark.
    """
    check_values(form.marks_of(Level.ITEM), answers.item, f"{form.item} {item.id}")
    usual = {} if form.revision is None else {form.revision.by: str(Op.CONFIRM)}
    for name in dict.fromkeys((*(part.id for part in item.parts), *answers.parts)):
        assert form.parts is not None  # the item has parts
        own = {**usual, **answers.parts.get(name, {})}
        check_values(form.marks_of(Level.PART), own, f"{form.parts.unit} {name}", answers.item)


def _meets(value: Value | None, wanted: Sequence[str]) -> bool:
    chosen = value if isinstance(value, tuple) else (value,)
    return any(choice in wanted for choice in chosen)


def _check_measures(mark: Mark) -> None:
    if isinstance(mark, TextMark) and mark.agreement:
        raise ValueError(f"mark {mark.name!r} is free text; agreement needs choices or numbers")
    for measure in (Measure.PEARSON, Measure.ICC):
        if measure in mark.agreement and not mark.numeric:
            raise ValueError(f"mark {mark.name!r} has the measure {measure}, which needs numbers as values")
    if mark.scale in ("interval", "ratio") and not mark.numeric:
        raise ValueError(f"mark {mark.name!r} has the scale {mark.scale}, which needs numbers as values")


def _plain(word: str) -> str:
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())
