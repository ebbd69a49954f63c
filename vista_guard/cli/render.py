"""Reports and verified texts on a terminal, and verified texts as one HTML page, with texts escaped and no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from vista_guard.policy.turn_risk import SAFE
from vista_guard.reading.visible import visible
from vista_guard.types import Evidence, Nearest, Outcome, TurnReport
from vista_guard.verification import ClaimResult, TextResult, Verdict

COLOURS = {
    "VERIFIED": "green",
    "OUT_OF_SCOPE": "cyan",
    "ABSTENTION": "blue",
    "LACKING_EVIDENCE": "yellow",
    "CONTRADICTED": "red",
    "ALLOW": "green",
    "FLAG": "yellow",
    "REPAIR": "yellow",
    "BLOCK": "red",
    "UNCHECKED": "magenta",
    Verdict.FACTUAL: "bold green",
    Verdict.NOT_FACTUAL: "bold red",
    Verdict.UNDECIDED: "bold magenta",
    Verdict.NO_CLAIMS: "bold yellow",
}

TITLES = {
    "ALLOW": "delivered",
    "FLAG": "delivered, flagged",
    "REPAIR": "delivered after repair",
    "BLOCK": "blocked; delivered instead",
}


def report_view(report: TurnReport) -> RenderableType:
    """Renders the delivered text, each claim with label, evidence and reason, the decision and the score."""
    decision = report.decision
    text, colour = Text(visible(report.response)), COLOURS[decision.action]
    response = Panel(text, title=TITLES[decision.action], title_align="left", border_style=colour)
    decided = Text("\n").append(str(decision.action), style=f"bold {colour}").append(f": {visible(decision.reason)}")
    if report.evidence_missing:
        decided.append("\nThere was no evidence to verify against.", style="yellow")
    return Group(response, *map(_outcome, report.outcomes), decided, _footer(report))


def result_view(result: TextResult) -> RenderableType:
    """Renders a verified text: its verdict, and each claim."""
    head = Text(f"{visible(result.file)}: {summary(result)}", style=COLOURS[result.verdict])
    return Group(head, *map(_claim_result, result.claims), Text(f"judge {visible(result.judge)}", style="dim"))


def _outcome(outcome: Outcome) -> RenderableType:
    if outcome.kind == "unchecked":
        return _claim("UNCHECKED", "UNCHECKED", outcome.claim.text, [_dim(outcome.error)])
    by = f" (judged by {outcome.judged_by})" if outcome.judged_by else ""
    near = [] if outcome.nearest is None or outcome.evidence else [_nearest(outcome.nearest)]
    details = [*map(_quoted, outcome.evidence), *near, _dim(outcome.reason + by)]
    return _claim(f"{outcome.label} {outcome.confidence:.2f}", outcome.label, outcome.claim.text, details)


def _claim_result(claim: ClaimResult) -> RenderableType:
    if claim.label is None:
        return _claim("UNCHECKED", "UNCHECKED", claim.text, [_dim(claim.reason)])
    quotes = (evidence.model_copy(update={"quote": " ".join(evidence.quote.split())}) for evidence in claim.evidence)
    near = [] if claim.nearest is None or claim.evidence else [_nearest(claim.nearest)]
    details = [*map(_quoted, quotes), *near, _dim(claim.reason)]
    return _claim(f"{claim.label} {claim.confidence:.2f}", claim.label, claim.text, details)


def _claim(title: str, label: str, text: str, details: Sequence[Text]) -> RenderableType:
    head = Text.assemble((title, f"bold {COLOURS[label]}"), f"  {visible(text)}")
    return Group(head, *(Padding(detail, (0, 0, 0, 4), expand=False) for detail in details))


def _dim(text: str) -> Text:
    return Text(visible(text), style="dim")


def _quoted(evidence: Evidence) -> Text:
    place = f" {evidence.source} {visible(evidence.name)}, {evidence.score:.2f}"
    return Text.assemble((f"“{visible(evidence.quote.strip())}”", "italic"), (place, "dim"))


def _nearest(near: Nearest) -> Text:
    place = f" nearest, in {visible(near.name)}"
    return Text.assemble((f"“{visible(near.quote.strip())}”", "italic"), (place, "dim"))


def _footer(report: TurnReport) -> Text:
    safe, usage = sum(finding.label in SAFE for finding in report.findings), report.usage
    parts = ["no VISTA score: nothing was judged"]
    if report.score is not None:
        parts = [f"VISTA score {report.score:.2f} ({safe} of {len(report.findings)} judged claims safe)"]
    if report.risk is not None:
        parts.append(f"risk {report.risk:.2f}{'' if report.risk_calibrated else ', uncalibrated'}")
    parts.append(f"{report.timings.total:.0f} ms")
    if usage.calls:
        cost = "" if usage.unpriced_calls else f", about ${usage.cost:.4f}"
        tokens = usage.input_tokens + usage.output_tokens
        parts.append(f"{usage.calls} model call{'s' * (usage.calls != 1)}, {tokens:,} tokens{cost}")
    parts += [f"judge {report.judge.name} {report.judge.version}", f"policy {report.policy}"]
    footer = Text(" · ".join(parts), style="dim")
    for warning in report.warnings:
        footer.append(f"\n{visible(warning)}", style="yellow")
    return footer


_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1b1b1b;background:#fff}
h2{margin-top:2.5rem}.note,.source{color:#555}table{border-collapse:collapse;width:100%}
td,th{padding:.4rem .6rem;border-top:1px solid #ddd;text-align:left;vertical-align:top}
blockquote{margin:.2rem 0;font-style:italic}.text,td,blockquote,.note{unicode-bidi:plaintext;text-align:start}
.text{white-space:pre-wrap;border:1px solid #ddd;padding:1rem;max-height:30rem;overflow:auto}
mark{color:inherit;background:#e6f4ea}mark.CONTRADICTED,.not-factual{background:#fde7e7}mark.LACKING_EVIDENCE{background:#fff4d6}
mark.UNCHECKED,.undecided{background:#f3e8fd}mark.OUT_OF_SCOPE,mark.ABSTENTION,.no-claims{background:#eef1f4}
.factual{background:#e6f4ea}.verdict{padding:.2rem .6rem;border-radius:.3rem}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}.note,.source{color:#aaa}.verdict,mark{color:#1b1b1b}}"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def summary(result: TextResult) -> str:
    """The verdict and the numbers behind it, in one line.

    >>> from vista_guard.verification import TextResult, Verdict
    >>> bare = dict(file="a.txt", title=None, factual=None, complete=True, claims=(), labels={}, judge="embedded", settings={})
    >>> summary(TextResult(verdict=Verdict.NO_CLAIMS, **bare))
    'no claims: the text makes no claim, so nothing was verified'
    """
    if result.verdict is Verdict.NO_CLAIMS:
        return "no claims: the text makes no claim, so nothing was verified"
    counts = ", ".join(f"{count} {name}" for name, count in sorted(result.labels.items()))
    stopped = "" if result.complete else "; stopped at the first claim that is not factual"
    count = len(result.claims)
    return f"{result.verdict}: {count} claim{'s' * (count != 1)}, {counts}{stopped}"


def page(results: Sequence[TextResult], texts: Mapping[str, str]) -> str:
    """Renders the whole HTML page; `texts` are by the results' files."""
    body = "".join(part for result in results for part in _text(result, texts[result.file]))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>Verified texts</title>'
        f"<style>{_STYLE}</style><h1>Verified texts</h1>{body}</html>\n"
    )


def _text(result: TextResult, text: str) -> Iterator[str]:
    kind = result.verdict.replace(" ", "-")
    yield f"<h2>{_html(result.file)}</h2>"
    yield f'<p><span class="verdict {kind}">{_html(summary(result))}</span></p>'
    yield f'<div class="text" tabindex="0">{_mark_claims(text, result.claims)}</div>'
    yield "<table><thead><tr><th>Label<th>Claim<th>Evidence</tr></thead><tbody>"
    for claim in result.claims:
        label = f"{claim.label} {claim.confidence:.2f}" if claim.label else "UNCHECKED"
        quotes = "".join(map(_quote, claim.evidence))
        if claim.nearest is not None and not claim.evidence:
            quotes = f'<span class="source">nearest, in {_html(claim.nearest.name)}</span>'
            quotes += f"<blockquote>{_html(claim.nearest.quote)}</blockquote>"
        yield f'<tr><td>{label}<td>{_html(claim.text)}<td>{quotes}<span class="note">{_html(claim.reason)}</span></tr>'
    settings = ", ".join(f"{name} {value}" for name, value in result.settings.items())
    yield f'</tbody></table><p class="note">judge {_html(result.judge)}; {_html(settings)}</p>'


def _quote(evidence: Evidence) -> str:
    place = f", characters {evidence.span.start}–{evidence.span.end}" if evidence.span else ""
    source = f"{evidence.name} ({evidence.source_id}){place}, {evidence.score:.2f}"
    return f'<blockquote>{_html(evidence.quote)}</blockquote><span class="source">{_html(source)}</span><br>'


def _mark_claims(text: str, claims: Sequence[ClaimResult]) -> str:
    """Marks claims in the text; of several in one place, the one that is not factual."""
    parts, at = [], 0
    placed = [(claim.span, claim) for claim in claims if claim.span is not None]
    for span, claim in sorted(placed, key=lambda pair: (pair[0].start, pair[1].is_factual is not False)):
        if span.start >= at:
            parts += [_html(text[at : span.start]), f'<mark class="{claim.label or "UNCHECKED"}">']
            parts += [_html(text[span.start : span.end]), "</mark>"]
            at = span.end
    return "".join([*parts, _html(text[at:])])


def _html(text: str) -> str:
    return escape(visible(text))
