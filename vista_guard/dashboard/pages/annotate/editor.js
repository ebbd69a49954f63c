// The editor of claims. All of its state is here; the server is told each state a moment after it changed. Texts are set as text.

const SOON_MS = 400;
const IDLE_S = 60; // who touches nothing for so long is not at work

function element(tag, cls, text, attributes) {
  const made = document.createElement(tag);
  if (cls) made.className = cls;
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  return made;
}

function button(text, cls, press, attributes) {
  const made = element("button", cls, text, { type: "button", ...attributes });
  made.onclick = press;
  return made;
}

class Editor {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.claims = data.claims.map((claim) => ({ ...claim }));
    this.notes = data.notes;
    this.seconds = data.seconds;
    this.at = 0;
    this.editing = null;
    this.seq = 0;
    this.touched = 0;
    this.build();
    this.draw();
  }

  build() {
    this.text = element("p", "text turn-text");
    this.list = element("ol", "claim-list");
    this.status = element("p", "small faint", "", { role: "status" });
    this.told = element("p", "lacks", "", { role: "alert" });
    this.note = element("textarea", "", undefined, { rows: "2", "aria-label": "Notes or justification, if any", placeholder: "Notes or justification, if any" });
    this.note.value = this.notes;
    this.note.disabled = this.data.closed;
    this.note.oninput = () => { this.notes = this.note.value; this.changed(); };
    const keys = element("p", "small faint", "Keys: 1–5 label · e edit · x delete · a add · ← → claim · Ctrl+Enter submit");
    const foot = element("div", "row");
    this.adding = button("Add a claim", "plain", () => this.add());
    this.submitting = button("Submit", "plain main", () => this.submit());
    foot.append(this.adding, this.submitting, this.status);
    const head = element("div", "turn-card");
    head.append(element("h3", "", "The turn"), this.text);
    const rest = this.data.closed ? [] : [foot, keys];
    this.root.replaceChildren(head, element("h3", "", "Its claims"), this.list, this.note, this.told, ...rest);
  }

  draw() {
    this.drawText();
    this.list.replaceChildren(...this.claims.map((claim, place) => this.drawClaim(claim, place)));
    this.drawStatus();
    if (this.editing !== null) this.write();
  }

  // At once: the key that comes next is already part of the text.
  write() {
    if (this.root.getRootNode().activeElement === this.box) return;
    this.box.focus();
    this.box.setSelectionRange(this.box.value.length, this.box.value.length);
  }

  drawText() {
    const points = [...this.data.text]; // Python counts code points
    const claim = this.claims[this.at];
    const span = claim && claim.span;
    if (!span) { this.text.replaceChildren(this.data.text); return; }
    const part = (start, end) => points.slice(start, end).join("");
    this.text.replaceChildren(part(0, span.start), element("mark", "here", part(span.start, span.end)), part(span.end));
  }

  drawStatus() {
    const kept = this.claims.filter((claim) => claim.op !== "delete");
    const done = kept.filter((claim) => claim.label).length;
    const state = this.data.closed ? "submitted" : this.seq === 0 || this.data.saved === this.seq ? "saved" : "saving…";
    this.status.textContent = `${done} of ${kept.length} labelled · ${state}`;
    if (this.data.closed) this.told.textContent = "You submitted this turn. It can't be changed any more.";
  }

  drawClaim(claim, place) {
    const gone = claim.op === "delete";
    const here = place === this.at;
    const row = element("li", `claim-row${here ? " current" : ""}${gone ? " deleted" : ""}`, undefined, { "aria-label": `Claim ${place + 1}`, "data-place": place });
    if (here) row.setAttribute("aria-current", "true");
    row.onclick = () => this.go(place);
    const head = element("div", "claim-head");
    head.append(element("span", "number faint", `${place + 1}.`), this.drawWords(claim, place));
    row.append(head);
    if (!gone) row.append(this.drawLabels(claim, place));
    if (!this.data.closed) row.append(this.drawTools(claim, place));
    return row;
  }

  drawWords(claim, place) {
    if (this.editing !== place) {
      const words = element("span", "statement-text", claim.text || "(no text)");
      if (claim.op === "edit" || claim.op === "add") words.append(" ", element("span", "chip tone-abstention", claim.op === "edit" ? "edited" : "added"));
      const hint = this.data.suggested[claim.source_claim_id];
      if (hint) { words.append(" ", element("span", `chip tone-${hint.tone}`, `judge: ${hint.sign} ${hint.word}`)); }
      return words;
    }
    const box = element("textarea", "", undefined, { rows: "2", "aria-label": `Text of claim ${place + 1}`, maxlength: "10000" });
    box.value = claim.text;
    box.oninput = () => { this.rewrite(claim, box.value); };
    box.onkeydown = (event) => {
      if (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey)) {
        event.preventDefault();
        event.stopPropagation();
        this.stopEditing();
      }
    };
    this.box = box;
    return box;
  }

  drawLabels(claim, place) {
    const group = element("div", "labels", undefined, { role: "group", "aria-label": `Label of claim ${place + 1}` });
    this.data.labels.forEach((label, number) => {
      const chosen = claim.label === label.name;
      const made = button("", `label tone-${label.tone}${chosen ? " chosen" : ""}`, (event) => { event.stopPropagation(); this.go(place, false); this.label(number); }, { "aria-pressed": String(chosen) });
      made.disabled = this.data.closed;
      made.append(element("kbd", "", String(number + 1)), element("span", "sign", label.sign, { "aria-hidden": "true" }), element("span", "", label.word));
      group.append(made);
    });
    return group;
  }

  drawTools(claim, place) {
    const row = element("div", "tools");
    const tool = (text, act) => button(text, "tool", (event) => { event.stopPropagation(); this.go(place, false); act(); }, { "aria-label": `${text} claim ${place + 1}` });
    if (claim.op === "delete") row.append(tool("Restore", () => this.remove()));
    else row.append(tool(this.editing === place ? "Done with" : "Edit", () => (this.editing === place ? this.stopEditing() : this.edit())), tool("Delete", () => this.remove()));
    return row;
  }

  go(place, redraw = true) {
    if (place === this.at && redraw) return;
    if (place !== this.at) this.editing = null;
    this.at = Math.max(0, Math.min(place, this.claims.length - 1));
    if (redraw) this.draw();
    this.reveal();
  }

  reveal() {
    const row = this.list.children[this.at];
    if (row) row.scrollIntoView({ block: "nearest" });
  }

  label(number) {
    const claim = this.claims[this.at];
    if (!claim || claim.op === "delete" || this.data.closed) return;
    claim.label = this.data.labels[number].name;
    this.changed();
  }

  edit() {
    const claim = this.claims[this.at];
    if (!claim || claim.op === "delete" || this.data.closed) return;
    this.editing = this.at;
    this.draw();
  }

  rewrite(claim, text) {
    claim.text = text;
    if (claim.op !== "add") claim.op = text === this.original(claim) ? "confirm" : "edit";
    this.changed(false);
  }

  original(claim) {
    const begun = this.data.claims.find((one) => one.source_claim_id === claim.source_claim_id);
    return begun && begun.op === "confirm" ? begun.text : undefined;
  }

  stopEditing() {
    this.editing = null;
    this.draw();
    this.root.focus();
  }

  remove() {
    const claim = this.claims[this.at];
    if (!claim || this.data.closed) return;
    this.editing = null;
    if (claim.op === "add") this.claims.splice(this.at, 1);
    else if (claim.op === "delete") claim.op = claim.text === this.original(claim) ? "confirm" : "edit";
    else { claim.op = "delete"; claim.label = null; }
    this.at = Math.max(0, Math.min(this.at, this.claims.length - 1));
    this.changed();
  }

  add() {
    if (this.data.closed) return;
    const { text, span } = this.selection();
    this.claims.push({ text, op: "add", label: null, source_claim_id: null, span });
    this.at = this.claims.length - 1;
    this.editing = this.at;
    this.changed();
    this.reveal();
  }

  selection() {
    const root = this.text.getRootNode();
    const chosen = root.getSelection ? root.getSelection() : document.getSelection();
    const none = { text: "", span: null };
    if (!chosen || !chosen.rangeCount || chosen.isCollapsed) return none;
    const range = chosen.getRangeAt(0);
    if (!this.text.contains(range.startContainer) || !this.text.contains(range.endContainer)) return none;
    const before = document.createRange();
    before.setStart(this.text, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const start = [...before.toString()].length;
    return { text: range.toString(), span: { start, end: start + [...range.toString()].length } };
  }

  lacking() {
    return this.claims.findIndex((claim) => claim.op !== "delete" && (!claim.label || !claim.text.trim()));
  }

  submit() {
    if (this.data.closed || this.sent) return;
    const missing = this.lacking();
    if (missing >= 0) {
      this.go(missing);
      this.told.textContent = `Claim ${missing + 1} has no ${this.claims[missing].label ? "text" : "label"} yet.`;
      return;
    }
    clearTimeout(this.later);
    this.sent = true; // until the server answers, with the next turn or with what is wrong
    this.component.setTriggerValue("submit", this.state());
  }

  changed(redraw = true) {
    this.told.textContent = "";
    this.seq = Math.max(Date.now(), this.seq + 1);
    if (redraw) this.draw();
    else this.drawStatus();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.component.setStateValue("draft", this.state()), SOON_MS);
  }

  state() {
    return { seq: this.seq, claims: this.claims, notes: this.notes, seconds: Math.round(this.seconds) };
  }

  // Told by the server: what was saved, and the judge's labels where they were asked for.
  update(data) {
    this.sent = false;
    this.data = { ...this.data, saved: data.saved, suggested: data.suggested };
    if (this.editing === null) this.draw();
    else this.drawStatus();
  }

  key(event) {
    this.touched = Date.now();
    const target = event.composedPath()[0];
    const typing = target instanceof HTMLElement && (target.isContentEditable || ["TEXTAREA", "INPUT", "SELECT"].includes(target.tagName));
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.submit(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      e: () => this.edit(), x: () => this.remove(), a: () => this.add(),
      ArrowLeft: () => this.go(this.at - 1), ArrowRight: () => this.go(this.at + 1),
    };
    const act = /^[1-5]$/.test(event.key) ? () => this.label(Number(event.key) - 1) : acts[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  tick() {
    if (document.visibilityState === "visible" && Date.now() - this.touched < IDLE_S * 1000) this.seconds += 1;
  }
}

function listen(root) {
  const stop = () => {
    document.removeEventListener("keydown", key, true);
    document.removeEventListener("pointerdown", touch, true);
    clearInterval(clock);
  };
  const alive = () => root.isConnected || (stop(), false);
  // While the next turn is on its way both its editor and the one before it are on the page: keys are for the newer.
  const key = (event) => { if (alive() && window.__vistaGuardEditor === root) root.__editor.key(event); };
  const touch = () => { if (alive()) root.__editor.touched = Date.now(); };
  const clock = setInterval(() => { if (alive()) root.__editor.tick(); }, 1000);
  document.addEventListener("keydown", key, true);
  document.addEventListener("pointerdown", touch, true);
  return stop;
}

export default function (component) {
  const root = component.parentElement.querySelector(".editor");
  root.tabIndex = -1;
  if (!root.__editor || root.__epoch !== component.data.epoch) {
    root.__epoch = component.data.epoch;
    root.__editor = new Editor(root, component.data);
    window.__vistaGuardEditor = root;
    if (!root.__stop) root.__stop = listen(root);
  } else root.__editor.update(component.data);
  root.__editor.component = component;
}
