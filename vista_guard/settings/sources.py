"""Settings: arguments over environment over a TOML or YAML file over defaults. Builds nothing.

The file is `VISTA_GUARD_CONFIG`, else `vista-guard.toml`, `vista-guard.yaml` or `vista-guard.yml` in the working folder.
Environment variables are `VISTA_GUARD_` and the field's name, with `__` between levels: `VISTA_GUARD_LIMITS__CLAIMS=100`. One
that sets nothing is refused, as an unknown name in the file is.

A `Section` is a table of that file with settings of its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from vista_guard._mappings import read_mapping
from vista_guard.errors import ConfigError
from vista_guard.settings.model import DecomposerOptions, EmbedderOptions, FrozenOptions, ModelOptions, VerifierOptions
from vista_guard.types import Recommendations, Record, RetrieveBy, SearchMode


def is_loopback(host: str) -> bool:
    """True for a name or address that can only mean this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


FILES = ("vista-guard.toml", "vista-guard.yaml", "vista-guard.yml")

PREFIX: Final = "VISTA_GUARD_"
OTHER_VARIABLES: Final = ("CONFIG", "DATA", "KEY", "THREADS", "URL")
"""Variables of the product that are no settings, without the prefix."""

_OF_TESTS: Final = ("REQUIRE_ALL", "NODE_CLIENT", "PROMPTFOO", "GUARDRAILS_AI")
_SERVICE_LINK: Final = re.compile(r"(\w+_)?(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)")
"""Variables that Kubernetes sets in every container where a Service is called `vista-guard` or `vista-guard-…`."""


class Limits(FrozenOptions):
    """Limits of one guarded turn. A turn beyond them is not judged, and its report says so."""

    turn_chars: int = Field(default=40_000, gt=0)
    """Characters of a turn."""
    document_chars: int = Field(default=2_000_000, gt=0)
    """Characters of a document."""
    documents: int = Field(default=200, gt=0)
    """Documents of a turn."""
    claims: int = Field(default=500, gt=0)
    """Claims of a turn."""
    judge_seconds: float = Field(default=60.0, gt=0)
    """Maximum time for judging one turn, all stages together. The turn's first claims are judged first; claims left over are
    unchecked."""
    turns: int = Field(default=2_000, gt=0)
    """Turns of the conversation."""
    passages: int = Field(default=48, gt=0)
    """Passages of the turn's documents that the judge sees; if there are more, the most relevant ones."""
    knowledge: int = Field(default=64, gt=0)
    """Known claims that the judge sees; if there are more, the most relevant ones."""
    retrieved: int = Field(default=6, gt=0)
    """Passages retrieved from the document store for a turn without documents; with `retrieve_by = "claim"`, for each claim."""
    neighbours: int = Field(default=0, ge=0, le=5)
    """Passages added on either side of each retrieved one."""


class CascadeOptions(FrozenOptions):
    """Options of `cascade:FIRST,SECOND`."""

    threshold: float | None = Field(default=None, ge=0, le=1)
    """Claims with a lower confidence of the first judge go to the second. Not set: the measured default."""
    decompose: Literal["first", "second"] = "first"
    """Which judge splits turns into claims."""
    on_second_failure: Literal["unchecked", "keep_first"] = "unchecked"
    """Treatment of a claim that the second judge could not judge: `keep_first` keeps the first judge's verdict. A contradiction
    is kept either way."""


class OtelOptions(FrozenOptions):
    """Options of OpenTelemetry."""

    content: Literal["no_content", "span_only", "event_only", "span_and_event"] | None = None
    """Texts in spans and events. Not set: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT decides; without
    either, no content."""
    events: Literal["logs", "span", "both"] = "logs"
    """Evaluations as log records, as events of the turn's span for backends that only take traces, or both."""
    model_spans: Literal["auto", "on", "off"] = "auto"
    """A `chat` span for each call of a model judge; `auto`: where its client is not instrumented already."""
    scores: tuple[str, ...] = ()
    """Backends that get the scores of traced turns by their own APIs: `phoenix:URL`, `langfuse:URL`."""


class _Sources(BaseSettings):
    """Reads arguments, the environment and the settings file; for a `Section`, its table there."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = config_file()
        if file is None:
            return init_settings, env_settings
        content = read_mapping(file)
        if issubclass(cls, Section):
            content = content.get(cls.section) or {}
            if not isinstance(content, dict):
                raise ValueError(f"{cls.section} is {type(content).__name__}; expected a table")
        return init_settings, env_settings, InitSettingsSource(settings_cls, content)


class Settings(_Sources):
    """All settings of a guard. Unknown names are refused."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    judge: str = "embedded"
    """`embedded`, `openai:MODEL`, `openai:MODEL@URL`, `langchain:PROVIDER:MODEL`, `recorded:FILE`, `cascade:FIRST,SECOND` or
    `ensemble:A,B,C`."""
    verifier: str | None = None
    """The verifier inside the embedded judge: `shipped` (the default), `hf:ORG/MODEL`, a folder's path, `openai:MODEL@URL`,
    `veto:FIRST,SECOND` or `split:FIRST,SECOND`."""
    verifier_options: VerifierOptions = VerifierOptions()
    """How the verifier is read and run, and the calibration that was fitted for it."""
    decomposer: str | None = None
    """Splits turns into claims: `shipped`, `hf:ORG/MODEL`, a folder's path, `openai:MODEL@URL` or `langchain:PROVIDER:MODEL`. Not
    set: the judge splits them itself."""
    decomposer_options: DecomposerOptions = DecomposerOptions()
    """How the decomposer is read and run."""
    embedder: str | None = None
    """The model that finds passages in the document store: `shipped` (the default), `hf:ORG/MODEL` or a folder's path."""
    embedder_options: EmbedderOptions = EmbedderOptions()
    """How the embedder is read and run."""
    weighing: Literal["all", "first"] = "all"
    """How the embedded judge weighs evidence. `all`: all of it. `first`: the first retrieved passage that supports or contradicts
    a claim decides, and a claim that no passage mentions passes (Algorithm 1 of LLM-OASIS; for comparisons, since it fails
    open)."""
    model: ModelOptions = ModelOptions()
    """How a model judge asks, and what it may spend."""
    cascade: CascadeOptions = CascadeOptions()
    """When the second judge of a cascade is asked."""
    judge_cache: Path | None = None
    """A folder that caches a model judge's answers; several processes may share it."""
    judge_recording: Path | None = None
    """A file that records every question to the judge and its answer, for `recorded:FILE`."""
    recommendations: Recommendations = "out_of_scope"
    """The embedded judge's label for advice, instructions and permissions that no document mentions: `out_of_scope`, as in the
    paper, or `lacking_evidence`. Claims about a document's subject are verified against it either way."""
    strict_reference: bool = False
    """Behave like the paper's reference implementation, for comparisons: claims judged one after the other (`per_claim`), turns
    without documents trusted (`ungrounded = "trust"`), no history in verify and categorize (`context = "none"`), and a model
    judge that is trusted: quotes are not looked up, and sentences that it leaves out are not judged."""
    policy: str = "balanced"
    """`monitor`, `balanced`, `strict`, or a TOML or YAML file with `policy` and `policy_overrides`: see `docs/policies.md`."""
    policy_overrides: dict[str, Any] = Field(default_factory=dict)
    """Fields of the policy to replace, for example `{"on_unchecked": "BLOCK"}` or `{"max_false_alarm_rate": 0.02}`."""
    risk_table: Path | None = None
    """The file of `vista-guard calibrate`: `max_false_alarm_rate` takes thresholds from it. The embedded judge ships one."""
    persona: Path | None = None
    """A YAML file with `name` and `facts` that the agent may take for granted."""
    channel: tuple[str, ...] = ()
    """Sentences about this chat that the agent may say without a document: its buttons, forms, languages, colleagues, house
    notes. For example `["There is a button below to make an appointment.", "Prices may change."]`. They hold in every
    conversation and verify what is said of the chat, nothing else; what says otherwise is contradicted, and documents outrank
    them. Reviewers add more from the dashboard: see `docs/reviewing.md`."""
    store: Literal["chroma", "memory", "pgvector", "qdrant"] | None = None
    """Where knowledge and documents are kept: `chroma` (extra `chroma`), a folder or a server; `pgvector`, Postgres; `qdrant`; or
    `memory`, until the process ends. When not given, Chroma where it is installed or was used, else memory, with a warning."""
    store_url: SecretStr | None = None
    """The server of `pgvector` (`postgresql://user@host/database`) or of `qdrant` (`http://host:6333`; a folder in the data
    folder when not given)."""
    store_key: SecretStr | None = None
    """The API key of the Qdrant server, where it asks for one."""
    data_dir: Path | None = None
    """Folder of the stores; the user's data folder when not given."""
    store_free_mb: int = Field(default=64, ge=0)
    """Megabytes of free disk space below which no knowledge or documents are written, since a full disk breaks Chroma's engine.
    The report says when this happens."""
    chroma_url: str | None = None
    """A Chroma server, `http://host:port`, in place of the folder."""
    reports: str | None = None
    """Where reports are kept: `sqlite`, for a file in the data folder, or an SQLAlchemy URL. Not kept when not given."""
    record: Record = "verdicts"
    """Kept beside reports: nothing (`verdicts`); what users said and what turns were verified against (`delivered`); also
    drafts, withheld ones included (`full`). See `docs/watching.md`."""
    text_retention_days: float | None = Field(default=None, gt=0)
    """After how many days the texts that `record` keeps are deleted; never when not given."""
    report_retention_days: float | None = Field(default=None, gt=0)
    """After how many days reports are deleted, with their texts, reviews and annotations; never when not given."""
    retrieve: bool = True
    """True if a turn without documents is verified against what the document store finds."""
    retrieve_by: RetrieveBy = "turn"
    """The query to the document store: the turn and the question before it, each claim separately, or both."""
    search: SearchMode = "hybrid"
    """How the document store is searched: by meaning (`vectors`), by words (`words`: BM25), or by both, joined by rank."""
    context: Literal["none", "full"] = "none"
    """`full` lets verify and categorize see the history too (VISTA+ctx, §7)."""
    ungrounded: Literal["judge", "trust"] = "judge"
    """`trust`, as the reference implementation: a turn without documents is not judged, and its claims become knowledge."""
    proxy: dict[str, Any] = Field(default_factory=dict)
    """Settings of `vista-guard serve`: see `docs/deployment.md`."""
    dashboard: dict[str, Any] = Field(default_factory=dict)
    """Settings of `vista-guard dashboard`: see `docs/dashboard.md`."""
    alerts: dict[str, Any] = Field(default_factory=dict)
    """Webhook and limits of the alerts that `vista-guard serve` sends: see `docs/watching.md`."""
    environment: str | None = Field(default=None, min_length=1, max_length=40)
    """The name of this deployment, such as `production`: each page of the dashboard and each alert shows it."""
    telemetry: bool = False
    """True if Chroma may send its own usage data. LangChain traces only where `LANGSMITH_TRACING` is set."""
    otel: OtelOptions = OtelOptions()
    """Traces and metrics for OpenTelemetry, if its SDK is in the process: see `docs/telemetry.md`."""
    host_tracing: bool = False
    """True if tracers of the host, such as LangSmith, see the guard's own runs, drafts and documents included."""
    limits: Limits = Limits()
    """Limits of a turn. A larger turn is not judged, and its report says so."""

    @field_validator("policy_overrides")
    @classmethod
    def _read_texts(cls, overrides: dict[str, Any]) -> dict[str, Any]:
        """The environment gives lists and tables as JSON. Only the policy knows which fields are some."""
        return {name: _from_json(value) for name, value in overrides.items()}

    @model_validator(mode="before")
    @classmethod
    def _read_other_names(cls, values: dict[str, Any]) -> dict[str, Any]:
        """LLM-OASIS says extractor, DAD decomposer: both names are read."""
        aliases = {"extractor": "decomposer", "extractor_options": "decomposer_options"}
        return {aliases.get(name, name): value for name, value in values.items()}

    @classmethod
    def load(cls, **arguments: Any) -> Self:
        """Reads arguments, environment and settings file.

        Raises:
            ConfigError: a file that cannot be read, an unknown name, or a value that makes no sense; names all three.
        """
        aliases = ("EXTRACTOR", "EXTRACTOR_OPTIONS")
        _check_environment(PREFIX, [*cls.model_fields, *aliases, *OTHER_VARIABLES, *_OF_TESTS])
        try:
            return cls(**arguments)
        except ValidationError as exc:
            first = exc.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            if first["type"] == "extra_forbidden":
                raise ConfigError(f"there is no setting {name!r}{_known_names(cls, first['loc'])}") from exc
            why = _why(first, name, repr(first["input"]))
            secret = "SecretStr" in str(getattr(cls.model_fields.get(str(first["loc"][0])), "annotation", ""))
            given = "" if secret else f" is {first['input']!r}"
            raise ConfigError(f"setting {name}{given}: {why}") from (None if secret else exc)
        except SettingsError as exc:
            raise ConfigError(_not_json(exc)) from None
        except (OSError, ValueError) as exc:
            raise ConfigError(f"the settings file {config_file()} cannot be read: {exc}") from exc


def _from_json(value: object) -> object:
    if not (isinstance(value, str) and value.startswith(("[", "{"))):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value  # a message in brackets


def _not_json(exc: SettingsError) -> str:
    """Names the variable whose list or table could not be read, without its value, which may be a secret."""
    value = getattr(exc.__cause__, "doc", None)  # of a JSONDecodeError
    names = [name for name, given in os.environ.items() if given == value and name.upper().startswith(PREFIX)]
    if not names:
        return f"the settings in the environment cannot be read: {exc}"
    how = """as in '["one", "two"]' or '{"name": 1}'"""
    return f"the environment variable {names[0]} is not JSON; write a list or table there as JSON, {how}"


def _check_environment(prefix: str, names: Iterable[str]) -> None:
    """ConfigError: a variable with the prefix that sets nothing, as a misspelt one does. Says the nearest name."""
    known = [name.upper() for name in names]
    for variable, value in os.environ.items():
        if not variable.upper().startswith(prefix):
            continue
        name = variable.upper().removeprefix(prefix)
        linked = _SERVICE_LINK.fullmatch(name) or (name.endswith("PORT") and "://" in value)
        if name.partition("__")[0] not in known and not linked:
            near = _nearest(name, known)
            hint = f"; did you mean {prefix}{near}?" if near else ""
            raise ConfigError(f"the environment variable {variable} is no setting{hint}")


def _nearest(name: str, known: Sequence[str]) -> str | None:
    """The likeliest name that was meant: spelt much alike, else one level too few (`LIMITS_CLAIMS`), else somewhat alike."""
    head, separator, rest = name.partition("__")
    if near := get_close_matches(head, known, 1, cutoff=0.85):
        return f"{near[0]}{separator}{rest}"
    level = max((part for part in known if name.startswith(f"{part}_")), key=len, default=None)
    if level is not None:
        return f"{level}__{name.removeprefix(f'{level}_').lstrip('_')}"
    near = get_close_matches(head, known, 1, cutoff=0.5)
    return f"{near[0]}{separator}{rest}" if near else None


def _known_names(model: type[BaseModel], place: Sequence[int | str]) -> str:
    """The settings beside an unknown one, for its error; nothing of a section that is no model."""
    *sections, _ = place
    fields = model.model_fields
    for section in sections:
        field = fields.get(str(section))
        fields = getattr(field.annotation if field else None, "model_fields", {})
    of = f" of {'.'.join(map(str, sections))}" if sections else ""
    return f"; the settings{of} are {', '.join(fields)}" if fields else ""


def config_file() -> Path | None:
    """Returns the settings file, or None.

    Raises:
        ConfigError: `VISTA_GUARD_CONFIG` names no file.
    """
    path = os.environ.get("VISTA_GUARD_CONFIG")
    if path:
        if not Path(path).is_file():
            raise ConfigError(f"VISTA_GUARD_CONFIG names {path}, which is not a file")
        return Path(path)
    return next((Path(name) for name in FILES if Path(name).is_file()), None)


class Section(BaseModel):
    """Base of a settings section. Unknown names are refused; errors never show a value, which may be a secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    section: ClassVar[str]
    """The table's name, and with `VISTA_GUARD_` before and `__` behind it the prefix in the environment."""
    where_to_set: ClassVar[Mapping[str, str]] = {}
    """For settings that must be given: how, by name."""

    @classmethod
    def load(cls, **arguments: Any) -> Self:
        """Reads arguments, environment (`VISTA_GUARD_<SECTION>__<NAME>=…`) and settings file (`[section]`).

        Raises:
            ConfigError: a file that cannot be read, an unknown name, or a value that makes no sense. No secret is shown.
        """
        _check_environment(f"{PREFIX}{cls.section.upper()}__", cls.model_fields)
        try:
            settings: Self = _with_sources(cls)(**arguments)
        except ValidationError as exc:
            raise ConfigError(_problem(cls, exc)) from None  # the cause would show what was given, secrets included
        except SettingsError as exc:
            raise ConfigError(_not_json(exc)) from None
        except (OSError, ValueError) as exc:
            file = config_file()
            where = "environment" if file is None else f"environment or the settings file {file}"
            raise ConfigError(f"the {cls.section}'s settings in the {where} cannot be read: {exc}") from exc
        return settings


@cache
def _with_sources(model: type[Section]) -> Any:
    """Returns the class with sources: it reads the environment and the file."""
    config = SettingsConfigDict(
        env_prefix=f"{PREFIX}{model.section.upper()}__",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )
    return type(model.__name__, (model, _Sources), {"model_config": config, "__module__": __name__})


def _problem(model: type[Section], exc: ValidationError) -> str:
    first = exc.errors()[0]
    name = ".".join((model.section, *map(str, first["loc"])))
    if first["type"] == "extra_forbidden":
        return f"there is no setting {name!r}; the {model.section}'s settings are {', '.join(model.model_fields)}"
    if first["type"] == "missing":
        how = model.where_to_set.get(str(first["loc"][-1]))
        return f"setting {name} is missing{'; ' + how if how else ''}"
    # A number or a word of a few is no secret; anything else may be, such as a key in the wrong place.
    given = f" is {first['input']!r}" if first["type"].startswith(_PLAIN_FAULTS) else ""
    why = _why(first, name, "'…'")
    return f"setting {name}{given}: {why}"


_PLAIN_FAULTS = ("int_", "float_", "bool_", "literal_", "less_", "greater_")


def _why(fault: Mapping[str, Any], name: str, item: str) -> str:
    """Says what is wrong with a value, in the words of settings files; `item` is for the example of a list."""
    if fault["type"] == "tuple_type":
        return f"give a list, for example [{item}]"
    if fault["type"] in ("dict_type", "model_type", "mapping_type"):
        return f"give a table, in a TOML file below the line [{name}]"
    return str(fault["msg"]).removeprefix("Value error, ")


POLICY_FILES = (".toml", ".yaml", ".yml")
"""Suffixes of policy files."""


def policy_file(path: Path) -> dict[str, Any]:
    """Reads a file's `policy`, `policy_overrides` and, where it is named, `risk_table`, written as in `vista-guard.toml`.

    Raises:
        ConfigError: no such file, or one that is empty or has other settings.
    """
    try:
        content = read_mapping(path)
    except OSError as exc:
        raise ConfigError(f"the policy file {path} cannot be read: {exc.strerror}") from exc
    except ValueError as exc:
        raise ConfigError(f"the policy file {path} cannot be read as {path.suffix[1:].upper()}: {exc}") from exc
    if not content:
        raise ConfigError(f'the policy file {path} says nothing; write for example: policy = "strict"')
    unknown = [key for key in content if key not in Settings.model_fields]
    if unknown:
        raise ConfigError(
            f"the policy file {path} has {unknown[0]!r}, which is no setting; it may hold policy, policy_overrides and risk_table"
        )
    preset, overrides = content.get("policy", "balanced"), content.get("policy_overrides") or {}
    if not isinstance(preset, str) or not isinstance(overrides, Mapping):
        raise ConfigError(f"the policy file {path}: policy must be a preset's name, and policy_overrides a table")
    table = {"risk_table": Path(str(content["risk_table"]))} if content.get("risk_table") is not None else {}
    return {"policy": preset, "policy_overrides": dict(overrides), **table}
