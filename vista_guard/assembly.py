"""The only place that turns settings into objects."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vista_guard._extras import has_chroma, how_to_install
from vista_guard.errors import ConfigError
from vista_guard.protocols import Decomposer, DocumentStore, Embedder, Judge, KnowledgeStore, Policy, Sink
from vista_guard.settings.sources import POLICY_FILES, Settings, policy_file
from vista_guard.stores.folders import data_dir, default_dir, documents_added, reports_url
from vista_guard.telemetry.config import Telemetry
from vista_guard.types import JudgeInfo, Persona

if TYPE_CHECKING:
    from vista_guard.judges.decomposers.named import Around
    from vista_guard.policy.label_policy import LabelPolicy
    from vista_guard.policy.risk import RiskTable
    from vista_guard.policy.turn_risk import TurnRisk
    from vista_guard.stores.chroma.documents import ChromaDocuments
    from vista_guard.stores.served import ServedDocuments

    KeptDocuments = ChromaDocuments | ServedDocuments[Any]

logger = logging.getLogger("vista_guard")
RISK_FILES = {"embedded": "risk.json", "embedded-quick": "risk-quick.json"}
"""The shipped risk table of each judge, by its name."""

SERVERS = ("pgvector", "qdrant")
"""Stores besides Chroma that outlive the process."""
MODELS = ("verifier", "decomposer", "embedder")
"""Settings that name a model, which may be a folder's path or an object."""


def assemble(
    named: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    knowledge: KnowledgeStore | None,
    documents: DocumentStore | None,
    sinks: Sequence[Sink],
) -> dict[str, Any]:
    """Arguments of `Guard`: given objects unchanged, all others built from the settings."""
    from vista_guard.policy.label_policy import build_policy
    from vista_guard.stores.embedders import build_embedder
    from vista_guard.stores.entries import OnnxEmbedder

    names = {name: value for name, value in named.items() if isinstance(value, str | Path)}
    # A folder's path is a name like others.
    names |= {name: str(names[name]) for name in MODELS if name in names}
    # A caller that keeps no reports: the file's `record` is for those that it keeps.
    if settings.get("reports", "") is None:
        settings = {"record": "verdicts", **settings}
    loaded = Settings.load(**names, **settings)
    given = settings.get("policy_overrides") or {}
    if given and _as_object(named["policy"]) is not None:
        raise ConfigError(
            "policy is an object and policy_overrides are given beside it; change the object's own fields"
        )
    if Path(loaded.policy).suffix in POLICY_FILES:
        loaded = loaded.model_copy(update=_with_overrides(policy_file(Path(loaded.policy)), given))
    embedder = OnnxEmbedder()
    retriever = build_embedder(_as_object(named.get("embedder")) or loaded.embedder, loaded.embedder_options)
    stores = _stores(loaded, embedder, retriever, knowledge, documents)
    return {
        "judge": _judge(named, loaded, embedder, retriever),
        "policy": _as_object(named["policy"]) or build_policy(loaded.policy, loaded.policy_overrides),
        "persona": _persona(named["persona"], loaded),
        "sinks": (*sinks, *_report_sinks(loaded, stores["knowledge"]), *_score_sinks(loaded)),
        "limits": loaded.limits,
        "context": "none" if loaded.strict_reference else loaded.context,
        "ungrounded": "trust" if loaded.strict_reference else loaded.ungrounded,
        "retrieve_by": loaded.retrieve_by,
        "risk_table": loaded.risk_table,
        "telemetry": Telemetry(**loaded.otel.model_dump(exclude={"scores"})),
        "host_tracing": loaded.host_tracing,
        **stores,
    }


def _with_overrides(file: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A policy file's settings under the arguments, rule by rule."""
    overrides = {**file["policy_overrides"], **given}
    rules, more = file["policy_overrides"].get("rules"), given.get("rules")
    if isinstance(rules, Mapping) and isinstance(more, Mapping):
        overrides["rules"] = {**rules, **more}
    return {**file, "policy_overrides": overrides}


def _judge(named: Mapping[str, Any], settings: Settings, embedder: Embedder, retriever: Embedder) -> Judge:
    """The given judge, or the named one with its verifier, behind the given or named decomposer."""
    judge: Judge | None = _as_object(named["judge"])
    verifier, decomposer = named.get("verifier"), named.get("decomposer")

    def behind(judge: Judge) -> Judge:
        return with_decomposer(judge, _as_object(decomposer), settings, embedder)

    if judge is None:
        from vista_guard.judges.named import build_judge

        return build_judge(settings, embedder, verifier=_as_object(verifier), retriever=retriever, behind=behind)
    if verifier is not None:
        raise ConfigError(
            "both a judge object and a verifier are given; leave one out, or give the verifier to EmbeddedJudge.load"
        )
    return judge if decomposer is None else behind(judge)  # the settings' own goes with the judge that they name


def with_decomposer(
    judge: Judge,
    decomposer: Decomposer | None,
    settings: Settings,
    embedder: Embedder,
    *,
    around: Around | None = None,
    on_made: Callable[[Decomposer], None] | None = None,
) -> Judge:
    """The judge behind the given decomposer, or the one that the settings name; the judge itself without one.

    `around` wraps a chat model that the decomposer asks; `on_made` is called with the decomposer.
    """
    choice = decomposer or settings.decomposer
    if choice is None or (choice == "shipped" and judge.info.name in RISK_FILES):
        return judge  # its claims are the shipped ones, for which its risk table holds
    from vista_guard.judges.decomposers.named import attach_decomposer, build_decomposer, cached

    chosen = build_decomposer(choice, embedder, settings.decomposer_options, settings.model, around=around)
    if chosen is None:
        return judge
    if on_made is not None:
        on_made(chosen)
    return attach_decomposer(judge, cached(chosen, settings.judge_cache) if chosen is not choice else chosen)


def _score_sinks(settings: Settings) -> tuple[Sink, ...]:
    if not settings.otel.scores:
        return ()
    from vista_guard.telemetry.scores import score_sink

    return tuple(map(score_sink, settings.otel.scores))


def memory_knowledge() -> KnowledgeStore:
    from vista_guard.stores.entries import OnnxEmbedder
    from vista_guard.stores.memory import MemoryKnowledge

    return MemoryKnowledge(OnnxEmbedder())


def kept_documents(settings: Settings, embedder: Embedder | str | Path | None = None) -> DocumentStore | None:
    """The documents of `vista-guard documents add`, for a guard that stores nothing else. A Chroma server counts as filled.

    They are searched with `embedder`, else with the one that the settings name. None when nothing was added, or nothing is to be
    retrieved: Chroma is then not even loaded. StoreError: the store cannot be opened.
    """
    if settings.store == "memory" or not settings.retrieve:
        return None
    place: str | Path | None = settings.chroma_url
    if settings.store not in SERVERS and not place:
        folder = _used_folder(settings)
        if folder is None or not documents_added(folder):
            return None
        place = folder
    return open_documents(settings, embedder, place)


def open_documents(
    settings: Settings, embedder: Embedder | str | Path | None = None, place: str | Path | None = None
) -> KeptDocuments:
    """The documents in the database that the settings name, or in Chroma at another place. StoreError: it cannot be opened."""
    from vista_guard.stores.embedders import build_embedder

    retriever = build_embedder(embedder or settings.embedder, settings.embedder_options)
    kind, _, database = _database(settings, place)
    documents: KeptDocuments = kind(database, retriever, search=settings.search)
    return documents


def _database(settings: Settings, place: str | Path | None = None) -> tuple[Any, Any, Any]:
    """The classes of documents and of knowledge, and the open database: `pgvector`, `qdrant`, or Chroma."""
    url, key = (secret.get_secret_value() if secret else None for secret in (settings.store_url, settings.store_key))
    if settings.store == "pgvector":
        from vista_guard.stores.pgvector import PgvectorDocuments, PgvectorKnowledge, Postgres

        if not url:
            raise ConfigError("store is pgvector, and store_url is not set; give postgresql://user@host/database")
        return PgvectorDocuments, PgvectorKnowledge, Postgres(url)
    if settings.store == "qdrant":
        from vista_guard.stores.qdrant import Qdrant, QdrantDocuments, QdrantKnowledge

        return QdrantDocuments, QdrantKnowledge, Qdrant(url or data_dir(settings.data_dir) / "qdrant", api_key=key)
    from vista_guard.stores.chroma.client import chroma_client
    from vista_guard.stores.chroma.documents import ChromaDocuments
    from vista_guard.stores.chroma.knowledge import ChromaKnowledge

    client = chroma_client(
        place or settings.chroma_url or data_dir(settings.data_dir) / "chroma",
        telemetry=settings.telemetry,
        free_bytes=settings.store_free_mb * 1_000_000,
    )
    return ChromaDocuments, ChromaKnowledge, client


def calibrate_policy(policy: Policy, judge: JudgeInfo, table: Path | None) -> tuple[Policy, TurnRisk | None]:
    """Returns the policy with its thresholds for this judge, and the fit that makes a turn's risk of the judge's outcomes.

    A policy that is no `LabelPolicy` comes back as it is. `table` is what `vista-guard calibrate` wrote; the embedded judge's own
    when not given. ConfigError: a rate, and no table for this judge, or one that cannot hold the rate.
    """
    from vista_guard.policy.label_policy import LabelPolicy

    risk_table = None
    if isinstance(policy, LabelPolicy) and policy.awaits_calibration:
        risk_table = _required_table(policy, judge, table)
        policy = policy.calibrated(risk_table)
    risk_table = risk_table or _own_table(judge, table)
    risk = risk_table.turn_risk if risk_table else None
    return policy.fitted_to(risk) if isinstance(policy, LabelPolicy) else policy, risk


def _required_table(policy: LabelPolicy, judge: JudgeInfo, path: Path | None) -> RiskTable:
    """The judge's table, which a policy with a rate requires."""
    from vista_guard.inference.weights import WEIGHTS

    name = "max_flag_rate" if policy.max_false_alarm_rate is None else "max_false_alarm_rate"
    setting = f"policy.{name} is {getattr(policy, name)}"
    how = "replay and label turns, run vista-guard calibrate, and set risk_table to its file"
    table = _table(judge, path)
    if table is None:
        raise ConfigError(f"{setting}, and there is no risk table for the judge {judge.name} {judge.version}: {how}")
    if table.judge != judge:
        raise ConfigError(
            f"{setting}, and the risk table {path or WEIGHTS / RISK_FILES[judge.name]} was made for the judge {table.judge.name} "
            f"{table.judge.version}, but {judge.name} {judge.version} judges: {how}"
        )
    return table


def _own_table(judge: JudgeInfo, path: Path | None) -> RiskTable | None:
    table = _table(judge, path)
    if table is None or table.judge == judge:
        return table
    if path is not None:
        logger.warning(
            "the risk table %s was made for the judge %s %s, but %s %s judges: turns have no calibrated risk",
            *(path, table.judge.name, table.judge.version, judge.name, judge.version),
        )
    return None


def _table(judge: JudgeInfo, path: Path | None) -> RiskTable | None:
    from vista_guard.inference.weights import WEIGHTS, weights_file
    from vista_guard.policy.risk import RiskTable

    own = RISK_FILES.get(judge.name, "")
    if path is None and not (WEIGHTS / own).is_file():
        return None
    return RiskTable.load(path or weights_file(own))


def _persona(given: object, settings: Settings) -> Persona | None:
    """The persona with what its chat can do."""
    from vista_guard.reading.files import read_persona

    own: Persona | None = _as_object(given) or (read_persona(settings.persona) if settings.persona else None)
    if not settings.channel:
        return own
    named = own or Persona(name="this chat")
    return named.model_copy(update={"channel": (*named.channel, *settings.channel)})


def _as_object(value: object) -> Any:
    return None if isinstance(value, str | Path) else value


def _stores(
    settings: Settings,
    embedder: Embedder,
    retriever: Embedder,
    knowledge: KnowledgeStore | None,
    documents: DocumentStore | None,
) -> dict[str, Any]:
    if knowledge is not None and (documents is not None or not settings.retrieve):
        return {"knowledge": knowledge, "documents": documents}
    if keeps_in_memory(settings):
        from vista_guard.stores.memory import MemoryKnowledge

        if settings.store is None and knowledge is None:
            logger.warning(_FORGETS, how_to_install("chroma"))
        return {"knowledge": knowledge or MemoryKnowledge(embedder), "documents": documents}
    documents_class, knowledge_class, database = _database(settings)
    if settings.retrieve and documents is None:
        documents = documents_class(database, retriever, search=settings.search)
    return {"knowledge": knowledge or knowledge_class(database, embedder), "documents": documents}


_FORGETS = (
    "Chroma is not installed: what conversations establish is kept in memory and lost when the process ends, and no "
    'documents are stored. To keep both: %s. If memory is what you want, set store = "memory"'
)


def keeps_in_memory(settings: Settings) -> bool:
    """True if nothing outlives the process. A folder that Chroma filled is never passed over in silence."""
    if settings.store is not None:
        return settings.store == "memory"
    return not (settings.chroma_url or has_chroma() or _used_folder(settings))


def _used_folder(settings: Settings) -> Path | None:
    try:
        folder = (settings.data_dir or default_dir()).expanduser() / "chroma"
    except ConfigError:  # a missing home holds no store
        return None
    return folder if (folder / "chroma.sqlite3").is_file() else None


def _report_sinks(settings: Settings, knowledge: KnowledgeStore) -> tuple[Sink, ...]:
    if settings.reports is None:
        if settings.record != "verdicts":
            raise ConfigError(
                f"record is {settings.record}, and no report store is set: set reports, for example to sqlite"
            )
        return ()
    from vista_guard.stores.reports import SqlReports

    return (
        SqlReports(
            reports_url(settings) or "",
            record=settings.record,
            text_retention_days=settings.text_retention_days,
            report_retention_days=settings.report_retention_days,
            knowledge=knowledge,
        ),
    )


def kept_knowledge(settings: Settings) -> KnowledgeStore | None:
    """The knowledge that the settings name, to forget in; None where none was ever kept. StoreError: it cannot be opened."""
    from vista_guard.stores.entries import OnnxEmbedder

    folder = (settings.data_dir or default_dir()).expanduser() / "chroma"
    if settings.store == "memory" or not (settings.store in SERVERS or settings.chroma_url or folder.is_dir()):
        return None
    _, knowledge_class, database = _database(settings, settings.chroma_url or folder)
    knowledge: KnowledgeStore = knowledge_class(database, OnnxEmbedder())
    return knowledge
