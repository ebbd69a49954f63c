// Makes the elements of a tree, and changes those that are there already. Texts are set as text: nothing is parsed.

const STYLES = new Set(["left", "width", "height"]);
const HEADER = 60; // pixels that stay above a page

function send(component, told) {
  component.setTriggerValue("event", told);
}

// Goes to another page as the browser's own back and forward do, which ends what the page refreshes by itself at once. A refresh
// of Live that reached the server after the switch would empty the page that was switched to.
function left(act) {
  if (act.name !== "go") return false;
  const there = new URL(act.value, document.baseURI);
  if (there.pathname === document.location.pathname) return false;
  history.pushState(null, "", there);
  window.dispatchEvent(new PopStateEvent("popstate"));
  return true;
}

function press(component, act) {
  return (event) => {
    // A link that is to open elsewhere is the browser's own affair.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0) return;
    event.preventDefault();
    event.stopPropagation();
    if (!left(act)) send(component, act);
  };
}

function byKey(component, act) {
  return (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (!left(act)) send(component, act);
  };
}

function selected(component, element, act) {
  return () => {
    const root = element.getRootNode();
    const chosen = root.getSelection ? root.getSelection() : document.getSelection();
    if (!chosen || !chosen.rangeCount || chosen.isCollapsed) return;
    const range = chosen.getRangeAt(0);
    if (!element.contains(range.startContainer) || !element.contains(range.endContainer)) return;
    const before = document.createRange();
    before.setStart(element, 0);
    before.setEnd(range.startContainer, range.startOffset);
    // Python counts code points, the browser UTF-16 units.
    const start = [...before.toString()].length;
    send(component, { ...act, start, end: start + [...range.toString()].length });
  };
}

function attributes(element, wanted, skipped) {
  for (const { name } of [...element.attributes]) {
    if (name !== "class" && name !== "style" && name !== skipped && !(name in wanted)) element.removeAttribute(name);
  }
  for (const [name, value] of Object.entries(wanted)) {
    if (name !== skipped && element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
}

// What a reader has opened or closed stays so, as long as it is about the same; its numbers may change.
function unfolded(element, node) {
  const title = node.t === "details" ? JSON.stringify(node.n[0].n).replace(/[0-9]+/g, "") : "";
  const same = element.__title === title;
  element.__title = title;
  return same ? "open" : "";
}

function reveal(element, token) {
  if (element.__revealed === token) return;
  element.__revealed = token;
  requestAnimationFrame(() => {
    const box = element.closest("[data-scroll]");
    const { top, bottom } = element.getBoundingClientRect();
    const covered = parseFloat(getComputedStyle(element).scrollMarginBottom); // by the panel, on a phone
    if (!box && (top < HEADER || bottom + covered > innerHeight)) element.scrollIntoView({ block: "center" });
    if (!box) return;
    box.scrollTop += top - box.getBoundingClientRect().top - box.clientHeight / 3;
  });
}

// A key, pressed where nobody types, presses the element that names it (`aria-keyshortcuts`).
const shortcuts = new Set();

function typing(target) {
  return target instanceof Element && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function shortcut(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.composedPath()[0])) return;
  for (const element of shortcuts) {
    if (!element.isConnected) shortcuts.delete(element);
    else if (element.getAttribute("aria-keyshortcuts").toLowerCase() === event.key.toLowerCase()) {
      event.preventDefault();
      element.click();
      return;
    }
  }
}

document.addEventListener("keydown", shortcut);

// Puts the cursor into the field of this name. Streamlit may draw it later, or anew: then nothing has the focus, and it is tried
// again, until somebody presses elsewhere, or a key once the field was there: the next turn has a field of the same name.
function focusField(name) {
  let tries = 200, found = false;
  document.addEventListener("pointerdown", () => { tries = 0; }, { once: true, capture: true });
  document.addEventListener("keydown", () => { if (found) tries = 0; }, { once: true, capture: true });
  const attempt = () => {
    const field = document.querySelector(`[aria-label="${CSS.escape(name)}"]`);
    if (field && (!found || document.activeElement === document.body)) field.focus();
    found = found || Boolean(field);
    if (--tries > 0) setTimeout(attempt, 50);
  };
  attempt();
}

// What this browser remembers for the next visit: who reviews. The server reads it with the page.
function remember(value) {
  const age = value ? 31536000 : 0;
  document.cookie = `vista_guard_who=${encodeURIComponent(value)}; Path=/; SameSite=Strict; Max-Age=${age}`;
}

function once(element, name, value, act) {
  if (value === undefined || element[name] === value) return;
  element[name] = value;
  act(value);
}

function dress(component, element, node) {
  const classes = node.c || "";
  if (element.className !== classes) element.className = classes;
  attributes(element, node.a || {}, unfolded(element, node));
  for (const [name, value] of Object.entries(node.s || {})) {
    if (STYLES.has(name)) element.style[name] = Number(value) + "%";
  }
  element.onclick = node.act ? press(component, node.act) : null;
  element.onkeydown = node.act && !["A", "BUTTON", "SUMMARY"].includes(element.tagName) ? byKey(component, node.act) : null;
  element.onmouseup = node.sel ? selected(component, element, node.sel) : null;
  element.onkeyup = element.onmouseup;
  fill(component, element, node.n || []);
  if (node.r) reveal(element, node.r);
  const wanted = node.a || {};
  if (wanted["aria-keyshortcuts"]) shortcuts.add(element);
  once(element, "__focused", wanted["data-focus"], (value) => focusField(value.split("#")[0]));
  once(element, "__remembered", wanted["data-remember"], remember);
}

function made(component, found, node) {
  if (typeof node === "string") {
    const text = found && found.nodeType === Node.TEXT_NODE ? found : document.createTextNode(node);
    if (text.data !== node) text.data = node;
    return text;
  }
  const fits = found && found.nodeType === Node.ELEMENT_NODE && found.localName === node.t;
  const element = fits ? found : document.createElement(node.t);
  element.__key = node.k;
  dress(component, element, node);
  return element;
}

function fill(component, parent, nodes) {
  const there = [...parent.childNodes];
  const keyed = new Map(there.filter((child) => child.__key).map((child) => [child.__key, child]));
  const free = there.filter((child) => !child.__key);
  const wanted = nodes.map((node) => made(component, node.k ? keyed.get(node.k) : free.shift(), node));
  const kept = new Set(wanted);
  for (const child of there) if (!kept.has(child)) child.remove();
  wanted.forEach((child, place) => {
    if (parent.childNodes[place] !== child) parent.insertBefore(child, parent.childNodes[place] || null);
  });
}

export default function (component) {
  const root = component.parentElement.querySelector(".vg");
  fill(component, root, [component.data]);
}
