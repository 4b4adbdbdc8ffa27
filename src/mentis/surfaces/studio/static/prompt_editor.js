// <mentis-editor>: a text area that knows placeholders. The editor lives in a shadow root, whose
// sheets are made by script alone: the pages allow no style that comes as markup.
let loading;

export function codemirror(element) {
  const url = element.closest("[data-codemirror]").dataset.codemirror;
  return (loading ??= import(url));
}

const colours = {
  "&": {font: "14px/1.65 var(--mono)", background: "var(--raised)", color: "var(--ink)", border: "1px solid var(--strong-line)", borderRadius: "6px"},
  "&.cm-focused": {outline: "2px solid var(--accent)", outlineOffset: "1px"},
  ".cm-content": {padding: "12px 0", caretColor: "var(--ink)", minHeight: "var(--least, 200px)"},
  ".cm-line": {padding: "0 14px"},
  ".cm-cursor": {borderLeftColor: "var(--ink)"},
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {background: "color-mix(in srgb, var(--accent) 24%, transparent) !important"},
  ".cm-scroller": {font: "inherit"},
  ".key": {color: "var(--accent)", background: "var(--tint)", borderRadius: "3px", padding: "1px 0"},
  ".key.strange": {color: "var(--bad)", background: "none", textDecoration: "underline wavy var(--bad)"},
  ".cm-tooltip": {background: "var(--raised)", border: "1px solid var(--strong-line)", borderRadius: "6px", overflow: "hidden"},
  ".cm-tooltip-autocomplete ul li": {font: "13px/1.5 var(--mono)", padding: "3px 10px !important"},
  ".cm-tooltip-autocomplete ul li[aria-selected]": {background: "var(--accent) !important", color: "var(--accent-ink) !important"},
  ".cm-completionDetail": {font: "12px var(--sans)", fontStyle: "normal", marginLeft: "12px"},
  ".cm-changedText, .cm-deletedChunk .cm-deletedText": {background: "color-mix(in srgb, var(--warn) 26%, transparent) !important", textDecoration: "underline var(--warn)"},
  ".cm-changedLine": {background: "var(--warn-tint) !important"},
  ".cm-changeGutter": {width: "3px", paddingLeft: "1px"},
  ".cm-changedLineGutter": {background: "var(--warn)"},
};

export function keysOf(text) {
  return [...new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map((one) => one[1]))];
}

export function knownKeys() {
  return new Map([...document.querySelectorAll("#keys option")].map((one) => [one.value, one.label]));
}

function extensions(cm, {label, readonly, changed}) {
  const known = knownKeys();
  const placeholders = new cm.MatchDecorator({
    regexp: /\{\{(\w+)\}\}/g,
    decoration: ([, key]) => cm.Decoration.mark(known.size && !known.has(key)
      ? {class: "key strange", attributes: {title: `${key} is not registered`}}
      : {class: "key", attributes: {title: known.get(key) || key}}),
  });
  const complete = (context) => {
    const word = context.matchBefore(/\{\{\w*/);
    if (!word) return null;
    const options = [...known].map(([key, detail]) => ({
      label: key,
      detail: detail.slice(0, 60),
      apply: (view, _option, from, to) => {
        const closed = view.state.sliceDoc(to, to + 2) === "}}";
        view.dispatch({changes: {from, to: closed ? to + 2 : to, insert: `${key}}}`}, selection: {anchor: from + key.length + 2}});
      },
    }));
    return {from: word.from + 2, options, validFor: /^\w*$/};
  };
  return [
    cm.minimalSetup,
    cm.EditorView.lineWrapping,
    cm.EditorView.theme(colours),
    cm.EditorView.contentAttributes.of(() => ({"aria-label": label(), spellcheck: "true"})),
    cm.ViewPlugin.define((view) => ({
      marks: placeholders.createDeco(view),
      update(update) { this.marks = placeholders.updateDeco(update, this.marks); },
    }), {decorations: (plugin) => plugin.marks}),
    cm.autocompletion({override: [complete], icons: false}),
    cm.EditorState.readOnly.of(Boolean(readonly)),
    cm.EditorView.updateListener.of((update) => { if (update.docChanged) changed?.(); }),
  ];
}

class MentisEditor extends HTMLElement {
  async connectedCallback() {
    this.area ??= this.querySelector("textarea");
    if (!this.area || this.first !== undefined) return;  // moved within the page
    this.area.addEventListener("input", () => this.fire());
    this.first = this.area.value;
    let cm;
    try { cm = await codemirror(this); } catch { return; }  // the plain field serves as well
    if (this.view || !this.isConnected) return;
    const root = this.attachShadow({mode: "open"});
    this.view = new cm.EditorView({
      doc: this.area.value,
      selection: {anchor: this.area.selectionStart, head: this.area.selectionEnd},
      root,
      parent: root,
      extensions: extensions(cm, {label: () => this.area.getAttribute("aria-label"), readonly: this.hasAttribute("data-readonly"), changed: () => this.fire()}),
    });
    const focused = document.activeElement === this.area;
    this.area.remove();
    if (focused) this.view.focus();
  }

  // What it is called, for whoever does not see where it stands.
  set label(words) {
    this.area?.setAttribute("aria-label", words);
    this.view?.dispatch({});
  }

  fire() { this.dispatchEvent(new CustomEvent("mentis-text", {bubbles: true})); }

  get value() { return this.view ? this.view.state.doc.toString() : this.area?.value ?? ""; }

  set value(text) {
    if (this.view) this.view.dispatch({changes: {from: 0, to: this.view.state.doc.length, insert: text}});
    else if (this.area) { this.area.value = text; this.fire(); }
  }

  focus() { (this.view || this.area)?.focus(); }
}

// Two texts side by side; what differs is marked. Gives back a way to read the right one.
export async function compare(place, {left, right, labels, editable = false}) {
  const cm = await codemirror(place), host = document.createElement("div");
  const root = host.attachShadow({mode: "open"});
  place.replaceChildren(host);
  const side = (doc, label, readonly) => ({doc, extensions: extensions(cm, {label: () => label, readonly})});
  const view = new cm.MergeView({
    a: side(left, labels[0], true),
    b: side(right, labels[1], !editable),
    root,
    parent: root,
    gutter: true,
  });
  return () => view.b.state.doc.toString();
}

customElements.define("mentis-editor", MentisEditor);
