"""Exports stored turns for other programs, as JSON lines or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from vista_guard._extras import require
from vista_guard.errors import InputError
from vista_guard.stores.reports.filters import KeptTurn
from vista_guard.stores.reports.rows import first_action
from vista_guard.types import Finding, Outcome, label_of

Format = Literal["jsonl", "parquet"]

_BATCH = 1000
"""Turns in one row group."""


def write(turns: Iterable[KeptTurn], path: Path, format: Format, *, texts: bool = False) -> int:
    """Writes the turns to a new file; returns their number.

    Args:
        turns: as `ReportReader.reports` gives them.
        path: the file; it must not exist, and appears only when complete.
        format: `jsonl` has a report on each line, as `vista-guard replay` writes them; `parquet` a row for each turn, its claims
            as a list of structs.
        texts: also writes the stored texts. A line is then `{"report": …, "texts": …}`.

    Raises:
        InputError: the file exists, is named as a table or as the other format, or cannot be written.
        ConfigError: Parquet needs pyarrow.
    """
    if path.suffix.lower() in {".csv", ".tsv", ".xls", ".xlsx", ".jsonl", ".parquet"} - {f".{format}"}:
        raise InputError(
            f"{path} would hold {format}; name it {path.with_suffix(f'.{format}').name}, or choose another --format of "
            "jsonl and parquet. For a spreadsheet, press CSV in the dashboard"
        )
    if path.exists():
        raise InputError(f"{path} exists; choose another file, or remove it")
    unfinished = path.with_name(f".{path.name}.part")
    try:
        count = {"jsonl": _jsonl, "parquet": _parquet}[format](turns, unfinished, texts)
        unfinished.rename(path)
    except OSError as exc:
        raise InputError(f"{path} cannot be written: {exc.strerror or exc}") from exc
    finally:
        unfinished.unlink(missing_ok=True)
    return count


def _jsonl(turns: Iterable[KeptTurn], path: Path, texts: bool) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for turn in turns:
            count += 1
            report = turn.report.model_dump(mode="json")
            kept = None if turn.texts is None else turn.texts.model_dump(mode="json")
            # Half a surrogate pair can be written escaped only.
            print(json.dumps({"report": report, "texts": kept} if texts else report), file=file)
    return count


def _parquet(turns: Iterable[KeptTurn], path: Path, texts: bool) -> int:
    require("exporting Parquet", "pyarrow", extra="parquet")
    import pyarrow as arrow
    from pyarrow.parquet import ParquetWriter

    schema, count = _schema(arrow, texts), 0
    with ParquetWriter(path, schema, compression="zstd") as writer:
        turn_rows = (_row(turn, texts) for turn in turns)
        while rows := list(islice(turn_rows, _BATCH)):
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def _schema(arrow: Any, texts: bool) -> Any:
    text, number, count = arrow.string(), arrow.float64(), arrow.int64()
    claim: dict[str, Any] = dict.fromkeys(("id", "text", "label"), text)
    claim |= {"confidence": number, "start": count, "end": count}
    claim |= dict.fromkeys(("reason", "source", "source_id", "quote"), text)
    columns: dict[str, Any] = {
        **{"id": text, "conversation_id": text, "turn_index": count, "created_at": arrow.timestamp("us", tz="UTC")},
        **dict.fromkeys(("tenant", "judge", "judge_version", "policy", "rules", "gate"), text),
        **dict.fromkeys(("action", "first_action", "reason"), text),
        **{"score": number, "risk": number, "evidence_missing": arrow.bool_(), "duration_ms": number, "response": text},
        "claims": arrow.list_(arrow.struct(list(claim.items()))),
        "trace_id": text,
        **dict.fromkeys(("user_text", "draft", "documents") if texts else (), text),
    }
    return arrow.schema(list(columns.items()))


def _row(turn: KeptTurn, texts: bool) -> dict[str, Any]:
    report = turn.report
    copied = ("id", "conversation_id", "turn_index", "created_at", "tenant", "policy", "rules", "gate", "score", "risk")
    row = {
        **{name: getattr(report, name) for name in (*copied, "evidence_missing", "response", "trace_id")},
        "judge": report.judge.name,
        "judge_version": report.judge.version,
        "action": report.decision.action.value,
        "first_action": first_action(report).value,
        "reason": report.decision.reason,
        "duration_ms": report.timings.total,
        "claims": [_claim(outcome) for outcome in report.outcomes],
        **(_texts(turn) if texts else {}),
    }
    return {name: _writable(value) for name, value in row.items()}


def _claim(outcome: Outcome) -> dict[str, Any]:
    claim, finding = outcome.claim, outcome if isinstance(outcome, Finding) else None
    quoted = finding.evidence[0] if finding and finding.evidence else None
    fields = {
        "id": claim.id,
        "text": claim.text,
        "label": label_of(outcome),
        "confidence": finding.confidence if finding else None,
        "start": claim.span.start if claim.span else None,
        "end": claim.span.end if claim.span else None,
        "reason": finding.reason if finding else getattr(outcome, "error", ""),
        "source": quoted.source.value if quoted else None,
        "source_id": quoted.source_id if quoted else None,
        "quote": quoted.quote if quoted else None,
    }
    return {name: _writable(value) for name, value in fields.items()}


def _texts(turn: KeptTurn) -> dict[str, Any]:
    texts = turn.texts
    if texts is None:
        return {"user_text": None, "draft": None, "documents": None}
    documents = json.dumps([document.model_dump(mode="json") for document in texts.documents])
    return {"user_text": texts.user_text, "draft": texts.draft, "documents": documents}


def _writable(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
