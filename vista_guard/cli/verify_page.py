"""The results of `vista-guard verify` as one HTML page. Texts are escaped; no script runs, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from vista_guard.errors import ConfigError
from vista_guard.reading.visible import visible
from vista_guard.types import Evidence
from vista_guard.verification import ClaimResult, TextResult, Verdict

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


def check_place(path: Path) -> None:
    """Passes when a page can be written there: asked before anything is judged.

    Raises:
        ConfigError: it cannot.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise ConfigError(f"--html {path} cannot be written; give a file in a folder that exists")


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
    """The whole page; `texts` by the results' files."""
    body = "".join(part for result in results for part in _text(result, texts[result.file]))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>Verified texts</title>'
        f"<style>{_STYLE}</style><h1>Verified texts</h1>{body}</html>\n"
    )


def _text(result: TextResult, text: str) -> Iterator[str]:
    kind = result.verdict.replace(" ", "-")
    yield f"<h2>{_shown(result.file)}</h2>"
    yield f'<p><span class="verdict {kind}">{_shown(summary(result))}</span></p>'
    yield f'<div class="text" tabindex="0">{_marked(text, result.claims)}</div>'
    yield "<table><thead><tr><th>Label<th>Claim<th>Evidence</tr></thead><tbody>"
    for claim in result.claims:
        label = f"{claim.label} {claim.confidence:.2f}" if claim.label else "UNCHECKED"
        quotes = "".join(map(_quote, claim.evidence))
        yield f'<tr><td>{label}<td>{_shown(claim.text)}<td>{quotes}<span class="note">{_shown(claim.reason)}</span></tr>'
    settings = ", ".join(f"{name} {value}" for name, value in result.settings.items())
    yield f'</tbody></table><p class="note">judge {_shown(result.judge)}; {_shown(settings)}</p>'


def _quote(evidence: Evidence) -> str:
    place = f", characters {evidence.span.start}–{evidence.span.end}" if evidence.span else ""
    source = f"{evidence.title or evidence.source_id} ({evidence.source_id}){place}, {evidence.score:.2f}"
    return f'<blockquote>{_shown(evidence.quote)}</blockquote><span class="source">{_shown(source)}</span><br>'


def _marked(text: str, claims: Sequence[ClaimResult]) -> str:
    """The text with the places of claims marked: of several in one place, the one that is not factual."""
    parts, at = [], 0
    placed = [(claim.span, claim) for claim in claims if claim.span is not None]
    for span, claim in sorted(placed, key=lambda one: (one[0].start, one[1].is_factual is not False)):
        if span.start >= at:
            parts += [_shown(text[at : span.start]), f'<mark class="{claim.label or "UNCHECKED"}">']
            parts += [_shown(text[span.start : span.end]), "</mark>"]
            at = span.end
    return "".join([*parts, _shown(text[at:])])


def _shown(text: str) -> str:
    return escape(visible(text))
