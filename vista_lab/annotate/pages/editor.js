// The editor of a form's marks. All of its state is here; the server is told each state a moment after it changed. Texts are set as
// text. A row is a part of the item, such as a claim; the last row is the item itself where the form has marks of it.

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
    this.rows = data.rows.map((row) => ({ ...row, values: { ...row.values } }));
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
    this.note.value = this.notes || "";
    this.note.disabled = this.data.closed;
    this.note.oninput = () => { this.notes = this.note.value; this.changed(); };
    const revising = this.data.revise ? " · e edit · x delete · a add" : "";
    const digits = this.data.marks.flatMap((mark) => (mark.choices ? this.keys(mark) : [])).filter((key) => key).sort();
    const keys = element("p", "small faint", `Keys: ${digits.length ? `${digits[0]}–${digits.at(-1)} ${this.data.verb}` : "Tab"}${revising} · ← → ${this.data.unit} · Ctrl+Enter submit`);
    const foot = element("div", "row");
    this.submitting = button("Submit", "plain main", () => this.submit());
    if (this.data.revise) foot.append(button(`Add a ${this.data.unit}`, "plain", () => this.add()));
    foot.append(this.submitting, this.status);
    const head = element("div", "turn-card");
    head.append(element("h3", "", `The ${this.data.item}`), this.text);
    const rest = this.data.closed ? [] : [foot, keys];
    const notes = this.data.notes === null ? [] : [this.note];
    this.root.replaceChildren(...(this.data.text ? [head] : []), element("h3", "", this.data.title), this.list, ...notes, this.told, ...rest);
  }

  draw() {
    this.drawText();
    this.list.replaceChildren(...this.rows.map((row, place) => this.drawRow(row, place)));
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
    const row = this.rows[this.at];
    const span = row && row.span;
    if (!span) { this.text.replaceChildren(this.data.text); return; }
    const part = (start, end) => points.slice(start, end).join("");
    this.text.replaceChildren(part(0, span.start), element("mark", "here", part(span.start, span.end)), part(span.end));
  }

  drawStatus() {
    const kept = this.rows.filter((row) => row.op !== "delete");
    const done = kept.filter((row) => !this.missing(row)).length;
    const state = this.data.closed ? "submitted" : this.seq === 0 || this.data.saved === this.seq ? "saved" : "saving…";
    this.status.textContent = `${done} of ${kept.length} ${this.data.verbed} · ${state}`;
    if (this.data.closed) this.told.textContent = `You submitted this ${this.data.item}. It can't be changed any more.`;
  }

  named(row, place) {
    return row.whole ? `The ${this.data.item}` : `${this.data.unit[0].toUpperCase()}${this.data.unit.slice(1)} ${place + 1}`;
  }

  drawRow(row, place) {
    const gone = row.op === "delete";
    const here = place === this.at;
    const drawn = element("li", `claim-row${here ? " current" : ""}${gone ? " deleted" : ""}`, undefined, { "aria-label": this.named(row, place), "data-place": place });
    if (here) drawn.setAttribute("aria-current", "true");
    drawn.onclick = () => this.go(place);
    const head = element("div", "claim-head");
    head.append(element("span", "number faint", row.whole ? "" : `${place + 1}.`), this.drawWords(row, place));
    drawn.append(head);
    if (!gone) drawn.append(...this.marks(row).map((mark) => this.drawMark(row, place, mark)));
    if (!this.data.closed && this.data.revise && !row.whole) drawn.append(this.drawTools(row, place));
    return drawn;
  }

  drawWords(row, place) {
    if (this.editing !== place) {
      const words = element("span", "statement-text", row.whole ? `The ${this.data.item} as a whole` : row.text || "(no text)");
      if (row.op === "edit" || row.op === "add") words.append(" ", element("span", "chip tone-abstention", row.op === "edit" ? "edited" : "added"));
      const hint = this.data.suggested[row.source_claim_id];
      if (hint) { words.append(" ", element("span", `chip tone-${hint.tone}`, `judge: ${hint.sign} ${hint.word}`)); }
      return words;
    }
    const box = element("textarea", "", undefined, { rows: "2", "aria-label": `Text of ${this.data.unit} ${place + 1}`, maxlength: "10000" });
    box.value = row.text;
    box.oninput = () => { this.rewrite(row, box.value); };
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

  // Marks of the row that apply beside what was chosen in it.
  marks(row) {
    const applies = (mark) => Object.entries(mark.when).every(([name, wanted]) => [row.values[name]].flat().some((value) => wanted.includes(value)));
    return this.data.marks.filter((mark) => mark.of.includes(row.whole ? "item" : "part") && applies(mark));
  }

  missing(row) {
    if (row.op === "delete") return null;
    if (!row.whole && !row.text.trim()) return "text";
    const empty = (value) => value === undefined || value === null || value === "" || value.length === 0;
    const lacking = this.marks(row).find((mark) => mark.needed && empty(row.values[mark.name]) && !this.spared(row, mark));
    return lacking ? lacking.name : null;
  }

  // A mark that may stay empty beside what was chosen in its row, or for the item as a whole.
  spared(row, mark) {
    const whole = this.rows.find((one) => one.whole);
    const around = { ...(whole ? whole.values : {}), ...row.values };
    return Object.entries(mark.optional_when).some(([name, wanted]) => [around[name]].flat().some((value) => wanted.includes(value)));
  }

  drawMark(row, place, mark) {
    const name = `${mark.name[0].toUpperCase()}${mark.name.slice(1)} of ${row.whole ? `the ${this.data.item}` : `${this.data.unit} ${place + 1}`}`;
    const group = element("div", "labels", undefined, { role: "group", "aria-label": name });
    if (this.data.marks.length > 1) group.append(element("span", "small faint mark-name", mark.name, { title: mark.ask }));
    if (mark.choices) group.append(...mark.choices.map((choice, number) => this.drawChoice(row, place, mark, choice, number)));
    else group.append(this.drawField(row, mark, name));
    return group;
  }

  drawChoice(row, place, mark, choice, number) {
    const chosen = [row.values[mark.name]].flat().includes(choice.name);
    const made = button("", `label tone-${choice.tone}${chosen ? " chosen" : ""}`, (event) => { event.stopPropagation(); this.go(place, false); this.choose(mark, number); }, { "aria-pressed": String(chosen), title: choice.means });
    made.disabled = this.data.closed;
    const key = this.keys(mark)[number];
    if (key && key !== choice.word) made.append(element("kbd", "", key));
    if (choice.sign) made.append(element("span", "sign", choice.sign, { "aria-hidden": "true" }));
    made.append(element("span", "", choice.word));
    return made;
  }

  drawField(row, mark, name) {
    const limits = mark.kind === "number" ? { type: "number", min: mark.low, max: mark.high, step: mark.whole ? 1 : "any" } : { rows: "1", maxlength: "10000" };
    const box = element(mark.kind === "number" ? "input" : "textarea", "", undefined, { "aria-label": name, placeholder: mark.ask, ...limits });
    box.value = row.values[mark.name] ?? "";
    box.disabled = this.data.closed;
    box.onclick = (event) => event.stopPropagation();
    box.oninput = () => {
      const number = box.value === "" || !box.checkValidity() ? null : Number(box.value);
      row.values[mark.name] = mark.kind === "number" ? number : box.value;
      this.changed(false);
    };
    return box;
  }

  drawTools(row, place) {
    const drawn = element("div", "tools");
    const tool = (text, act) => button(text, "tool", (event) => { event.stopPropagation(); this.go(place, false); act(); }, { "aria-label": `${text} ${this.data.unit} ${place + 1}` });
    if (row.op === "delete") drawn.append(tool("Restore", () => this.remove()));
    else drawn.append(tool(this.editing === place ? "Done with" : "Edit", () => (this.editing === place ? this.stopEditing() : this.edit())), tool("Delete", () => this.remove()));
    return drawn;
  }

  go(place, redraw = true) {
    if (place === this.at && redraw) return;
    if (place !== this.at) this.editing = null;
    this.at = Math.max(0, Math.min(place, this.rows.length - 1));
    if (redraw) this.draw();
    this.reveal();
  }

  reveal() {
    const row = this.list.children[this.at];
    if (row) row.scrollIntoView({ block: "nearest" });
  }

  // The keys of a mark's choices: their place, or where they are digits themselves.
  keys(mark) {
    const own = mark.choices.every((choice) => /^[0-9]$/.test(choice.word));
    return mark.choices.map((choice, number) => (own ? choice.word : number < 9 ? String(number + 1) : ""));
  }

  // A key is for the first mark of the row that is still open, else for its first.
  press(key) {
    const row = this.rows[this.at];
    if (!row || row.op === "delete") return;
    const choosing = this.marks(row).filter((mark) => mark.choices && this.keys(mark).includes(key));
    const mark = choosing.find((one) => row.values[one.name] === undefined || row.values[one.name] === null) || choosing[0];
    if (mark) this.choose(mark, this.keys(mark).indexOf(key));
  }

  choose(mark, number) {
    const row = this.rows[this.at];
    if (!row || row.op === "delete" || this.data.closed) return;
    const value = mark.choices[number].name;
    if (mark.kind === "choice") row.values[mark.name] = value;
    else {
      const before = row.values[mark.name] || [];
      const now = before.includes(value) ? before.filter((one) => one !== value) : [...before, value];
      row.values[mark.name] = mark.choices.map((choice) => choice.name).filter((name) => now.includes(name));
    }
    this.changed();
  }

  edit() {
    const row = this.rows[this.at];
    if (!row || row.whole || !this.data.revise || row.op === "delete" || this.data.closed) return;
    this.editing = this.at;
    this.draw();
  }

  rewrite(row, text) {
    row.text = text;
    if (row.op !== "add") row.op = text === this.original(row) ? "confirm" : "edit";
    this.changed(false);
  }

  original(row) {
    const begun = this.data.rows.find((one) => one.source_claim_id === row.source_claim_id);
    return begun && begun.op === "confirm" ? begun.text : undefined;
  }

  stopEditing() {
    this.editing = null;
    this.draw();
    this.root.focus();
  }

  remove() {
    const row = this.rows[this.at];
    if (!row || row.whole || !this.data.revise || this.data.closed) return;
    this.editing = null;
    if (row.op === "add") this.rows.splice(this.at, 1);
    else if (row.op === "delete") row.op = row.text === this.original(row) ? "confirm" : "edit";
    else { row.op = "delete"; row.values = {}; }
    this.at = Math.max(0, Math.min(this.at, this.rows.length - 1));
    this.changed();
  }

  add() {
    if (this.data.closed || !this.data.revise) return;
    const { text, span } = this.selection();
    const end = this.rows.findIndex((row) => row.whole);
    this.at = end < 0 ? this.rows.length : end;
    this.rows.splice(this.at, 0, { text, op: "add", values: {}, source_claim_id: null, span });
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
    return this.rows.findIndex((row) => this.missing(row));
  }

  submit() {
    if (this.data.closed || this.sent) return;
    const missing = this.lacking();
    if (missing >= 0) {
      this.go(missing);
      this.told.textContent = `${this.named(this.rows[missing], missing)} has no ${this.missing(this.rows[missing])} yet.`;
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
    const filled = (row) => this.marks(row).map((mark) => [mark.name, row.values[mark.name]]).filter(([, value]) => value !== undefined && value !== null && value !== "");
    const rows = this.rows.map((row) => ({ ...row, values: Object.fromEntries(filled(row)) }));
    return { seq: this.seq, rows, notes: this.notes || "", seconds: Math.round(this.seconds) };
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
    const act = /^[0-9]$/.test(event.key) ? () => this.press(event.key) : acts[event.key];
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
