/**
 * A custom element that shows a report: the delivered answer with its claims marked, and each claim with its evidence.
 *
 *     import "vista-guard/element";
 *     document.querySelector("vista-report").report = report;      // or <vista-report report='{…}'></vista-report>
 *
 * Texts of answers and documents are set as text, never as markup. Colours are custom properties: --vista-contradicted and so on.
 */

import type { Finding, TurnReport, Unchecked } from "./report.js";

type Outcome = Finding | Unchecked;
type Piece = { start: number; end: number };

const STYLE = `
:host { display: block; font: 1rem/1.5 system-ui, sans-serif; color-scheme: light dark; }
.decision { font-weight: 600; }
.answer { white-space: pre-wrap; margin: .5rem 0; padding: .75rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: .4rem; }
mark { color: inherit; border-radius: .2rem; }
ul { padding: 0; margin: 0; list-style: none; }
li { padding: .4rem 0 .4rem .75rem; border-inline-start: .3rem solid; margin-bottom: .4rem; }
blockquote { margin: .2rem 0; font-style: italic; }
small { opacity: .75; }
.VERIFIED { --label: var(--vista-verified, #2e8b57); }
.CONTRADICTED { --label: var(--vista-contradicted, #d1495b); }
.LACKING_EVIDENCE { --label: var(--vista-lacking, #d98e04); }
.OUT_OF_SCOPE, .ABSTENTION { --label: var(--vista-neutral, #708090); }
.UNCHECKED { --label: var(--vista-unchecked, #8e5bc0); }
mark { background: color-mix(in srgb, var(--label) 28%, transparent); }
li { border-color: var(--label); }
`;

/** A claim's label, or UNCHECKED. */
export function labelOf(outcome: Outcome): string {
  return "label" in outcome ? outcome.label : "UNCHECKED";
}

/**
 * Where a place in the judged draft stands in the delivered text: as in Python, where offsets count code points.
 */
export function deliveredSpans(report: TurnReport, span: Piece): Piece[] {
  const pieces = report.draft_spans ?? [];
  const whole = ["ALLOW", "FLAG"].includes(report.decision.action);
  if (pieces.length === 0 && !report.gate && whole) return span.end <= [...report.response].length ? [span] : [];
  return pieces.flatMap(({ draft, response }) => {
    const [start, end] = [Math.max(span.start, draft.start), Math.min(span.end, draft.end)];
    const shift = response.start - draft.start;
    return start < end ? [{ start: start + shift, end: end + shift }] : [];
  });
}

function element(name: string, className: string, ...children: (Node | string)[]): HTMLElement {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function answer(report: TurnReport): HTMLElement {
  const points = [...report.response];
  const text = (start: number, end?: number) => points.slice(start, end).join("");
  const marks = report.outcomes
    .flatMap((outcome) => {
      const span = outcome.claim.span;
      return span ? deliveredSpans(report, span).map((piece) => ({ ...piece, label: labelOf(outcome) })) : [];
    })
    .sort((one, other) => one.start - other.start);
  const shown = element("div", "answer");
  let at = 0;
  for (const { start, end, label } of marks) {
    if (start < at) continue;
    const mark = element("mark", label, text(start, end));
    mark.title = label;
    shown.append(text(at, start), mark);
    at = end;
  }
  shown.append(text(at));
  return shown;
}

function claim(outcome: Outcome): HTMLElement {
  const label = labelOf(outcome);
  const sure = "confidence" in outcome ? ` ${outcome.confidence.toFixed(2)}` : "";
  const item = element("li", label, element("strong", "", `${label}${sure}`), ` ${outcome.claim.text}`);
  if (!("label" in outcome)) {
    item.append(element("div", "", element("small", "", outcome.error)));
    return item;
  }
  for (const found of outcome.evidence ?? []) {
    const source = element("small", "", found.title ?? found.source_id);
    item.append(element("blockquote", "", found.quote), source);
  }
  item.append(element("div", "", element("small", "", outcome.reason)));
  return item;
}

const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement); // a server may import this file, too

export class VistaReport extends Base {
  static observedAttributes = ["report"];
  #report: TurnReport | null = null;

  get report(): TurnReport | null {
    return this.#report;
  }

  set report(report: TurnReport | null) {
    this.#report = report;
    this.#draw();
  }

  attributeChangedCallback(_: string, __: string | null, value: string | null): void {
    this.report = value ? (JSON.parse(value) as TurnReport) : null;
  }

  #draw(): void {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const style = element("style", "", STYLE);
    if (!this.#report) return root.replaceChildren(style);
    const { decision, outcomes } = this.#report;
    const decided = element("div", "decision", decision.action, " ", element("small", "", decision.reason));
    root.replaceChildren(style, decided, answer(this.#report), element("ul", "", ...outcomes.map(claim)));
  }
}

if (globalThis.customElements && !customElements.get("vista-report")) customElements.define("vista-report", VistaReport);
