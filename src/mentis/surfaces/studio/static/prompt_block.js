// <mentis-block>: one block. Says what is not saved, saves it over the state it was read from, and
// shows both texts where somebody else was faster.
import {arrived, ask, blocks, effectWords, idPattern, leave, make, refresh, send, tell, withYes} from "./prompt_shared.js";
import {compare, keysOf, knownKeys} from "./prompt_editor.js";

const same = (left, right) => JSON.stringify(left) === JSON.stringify(right);

class MentisBlock extends HTMLElement {
  connectedCallback() {
    const {id, etag, variant} = this.dataset;
    Object.assign(this, {block: id, etag, variant, path: `${blocks}/${encodeURIComponent(id)}`});
    this.notice = this.querySelector("[data-notice]");
    this.form = this.querySelector("[data-fields]");
    this.picks = document.querySelector("[data-picks]");
    this.editing = Boolean(this.dataset.editing);
    this.known = this.state();
    this.addEventListener("click", (event) => this.clicked(event));
    this.addEventListener("mentis-text", () => this.changed());
    this.addEventListener("input", () => this.changed());
    this.addEventListener("change", (event) => {
      if (event.target.name === "starts") this.alternate(event.target.value);
      this.changed();
    });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.picks?.addEventListener("change", () => this.preview());
    this.preview();
    this.guard();
    this.follow();
    const words = arrived();
    if (words) tell(this.notice, words);
    // Once the browser has gone there, which takes the focus away.
    if (document.readyState === "complete") this.goToField();
    else window.addEventListener("load", () => setTimeout(() => this.goToField()));
  }

  goToField() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target) (target.querySelector("input, select, mentis-editor, textarea") || target).focus();
  }

  // What the page holds

  wording() {
    const text = this.querySelector("mentis-editor[data-text]");
    if (text) return text.value;
    return [...this.querySelectorAll("[data-message]")].map((one) => ({role: one.dataset.role, content: one.querySelector("mentis-editor").value}));
  }

  settings() {
    const made = {};
    for (const field of this.form.querySelectorAll("[data-field]")) made[field.dataset.field] = valueOf(field);
    made.modes = [...this.form.querySelectorAll("[data-modes]:checked")].map((one) => one.value);
    return made;
  }

  state() {
    return {wording: this.wording(), settings: this.settings(), extra: this.form.querySelector("[data-extra]").value};
  }

  edits() {
    const now = this.state(), settings = {};
    for (const [name, value] of Object.entries(now.settings)) if (!same(value, this.known.settings[name])) settings[name] = value;
    if (now.extra !== this.known.extra) {
      const before = JSON.parse(this.known.extra || "{}"), after = JSON.parse(now.extra || "{}");
      for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) if (!same(before[name], after[name])) settings[name] = after[name] ?? null;
    }
    return {settings, wording: same(now.wording, this.known.wording) ? null : now.wording};
  }

  get dirty() {
    return this.editing && !same(this.state(), this.known);
  }

  changed() {
    const dirty = this.dirty;
    for (const act of ["save", "discard"]) this.querySelector(`[data-act="${act}"]`)?.toggleAttribute("disabled", !dirty);
    const told = this.querySelector("[data-dirty]");
    if (told) told.textContent = dirty ? this.dirtyWords() : "Nothing changed";
    this.showKeys();
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.preview(), 200);
  }

  dirtyWords() {
    let edits;
    try { edits = this.edits(); } catch { return "The other fields are no JSON"; }
    const names = [...(edits.wording === null ? [] : ["the words"]), ...Object.keys(edits.settings)];
    return `Not saved: ${names.join(", ")}`;
  }

  showKeys() {
    const wording = this.wording(), text = typeof wording === "string" ? wording : wording.map((one) => one.content).join("\n");
    const known = knownKeys(), line = this.querySelector("[data-keys-used]"), keys = keysOf(text);
    line.replaceChildren("Placeholders: ", ...keys.flatMap((key) => [make("code", "", `{{${key}}}`), known.has(key) ? " " : " (not registered) "]));
    if (!keys.length) line.append("none");
  }

  // Saving

  async save() {
    if (!this.dirty || this.saving) return;
    if (!this.form.reportValidity()) return;
    this.saving = true;
    try {
      const {settings, wording} = this.edits();
      const body = {settings, words: this.querySelector("[data-words]").value.trim(), variant: this.variant};
      if (wording !== null) body[typeof wording === "string" ? "text" : "messages"] = wording;
      const done = await withYes((given) => send(this.path, {method: "PATCH", tag: this.etag, body: {...body, ...given}}));
      if (done) await this.saved(done);
    } catch (error) {
      if (error.status === 412) await this.conflict();
      else if (error instanceof SyntaxError) tell(this.notice, `The other fields are no JSON: ${error.message}`, {bad: true});
      else tell(this.notice, error.message, {bad: true});
    } finally {
      this.saving = false;
    }
  }

  async saved(done) {
    this.etag = done.headers.get("etag");
    this.known = this.state();
    this.querySelector("[data-words]").value = "";
    this.querySelector("[data-conflict]").hidden = true;
    this.showEffect(await done.json());
    this.changed();
    tell(this.notice, "Saved. It counts from the next turn on.");
    this.channel?.postMessage({saved: this.block});
    await this.refresh();
  }

  showEffect(told) {
    const place = document.querySelector("[data-effect]");
    place.replaceChildren(make("h3", "", "What the last change did"), make("p", "", effectWords(told) || "No prompt changed."));
  }

  async refresh() {
    const fresh = await refresh();
    const list = fresh.querySelector("mentis-prompts.sidebar");
    if (list) document.querySelector("mentis-prompts.sidebar").dataset.revision = list.dataset.revision;
  }

  // Somebody else saved first: both texts, and nothing is lost.
  async conflict() {
    const response = await send(this.path), now = await response.json();
    const theirs = now.variants[this.variant], place = this.querySelector("[data-conflict]");
    const left = plain(theirs), right = plain({content: this.wording(), messages: this.wording()});
    const isText = typeof this.wording() === "string";
    const sides = make("div", "merge"), row = make("p", "choices");
    place.replaceChildren(make("h2", "", "Somebody else saved this block"), make("p", "", "It was changed in another window, on the command line or by a program, since this page was opened. Nothing of yours was written, and nothing is lost. On the left is what is saved now, on the right what you wrote."), sides);
    const edits = this.edits(), both = Object.keys(edits.settings).filter((name) => name in now && !same(now[name], this.known.settings[name]));
    if (both.length) {
      const list = make("ul", "omitted");
      for (const name of both) list.append(make("li", "", `${name}: now ${JSON.stringify(now[name])}, yours ${JSON.stringify(edits.settings[name])}`));
      place.append(make("p", "", "Settings that both of you changed:"), list);
    }
    const mine = make("button", "primary", "Save mine over it"), take = make("button", "", "Take what is saved now"), back = make("button", "", "Go on editing mine");
    for (const button of [mine, take, back]) { button.type = "button"; row.append(button); }
    place.append(row);
    place.hidden = false;
    place.scrollIntoView({block: "start"});
    const read = await compare(sides, {left, right, labels: ["What is saved now", "What you wrote"], editable: isText});
    this.etag = response.headers.get("etag");  // whoever decides now has seen this state
    const keep = () => { if (isText) this.querySelector("mentis-editor[data-text]").value = read(); };
    mine.addEventListener("click", () => { keep(); place.hidden = true; this.save(); });
    take.addEventListener("click", () => { this.known = this.state(); leave(location.pathname + location.search, "This is what is saved now."); });
    back.addEventListener("click", () => { keep(); place.hidden = true; });
    mine.focus();
  }

  // Leaving, and others at the same block

  guard() {
    window.addEventListener("beforeunload", (event) => { if (this.dirty) event.preventDefault(); });
    document.addEventListener("click", async (event) => {
      const link = event.target.closest?.("a[href]");
      if (!link || !this.dirty || event.defaultPrevented || event.ctrlKey || event.metaKey || link.target || link.hasAttribute("download") || link.getAttribute("href").startsWith("#")) return;
      event.preventDefault();
      const said = await ask({title: "Save what you changed?", words: this.dirtyWords(), answers: [["no", "Stay"], ["discard", "Discard"], ["save", "Save", "primary"]]});
      if (!said) return;
      if (said.answer === "save") await this.save();
      else this.known = this.state();
      if (!this.dirty) location.assign(link.href);
    });
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "s" && this.editing) {
        event.preventDefault();
        this.save();
      }
    });
  }

  follow() {
    this.channel = new BroadcastChannel("mentis-prompts");
    this.channel.onmessage = ({data}) => {
      if (data.opened === this.block) {
        this.channel.postMessage({also: this.block});
        this.alone(false);
      } else if (data.also === this.block) this.alone(false);
      else if (data.saved === this.block) this.look();
    };
    if (this.editing) this.channel.postMessage({opened: this.block});
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.look(); });
    window.addEventListener("focus", () => this.look());
    document.addEventListener("mentis-block-changed", (event) => { if (event.detail === this.block) this.look(); });
  }

  alone() {
    if (this.editing && !this.notice.children.length) tell(this.notice, "This block is also open in another window. Whoever saves second is asked.");
  }

  // Whether it is still what this page shows.
  async look() {
    const response = await send(this.path, {headers: {"if-none-match": this.etag}}).catch(() => null);
    if (!response || response.status === 304 || this.saving) return;
    if (this.dirty) tell(this.notice, "This block was saved elsewhere meanwhile.", {acts: [["Compare", () => this.conflict()]]});
    else leave(location.pathname + location.search, "This block was changed elsewhere: this is how it is now.");
  }

  // As it is told

  async preview() {
    const place = document.querySelector("[data-preview]"), form = this.picks;
    if (!form?.elements.persona.value) return;
    const wording = this.wording(), turn = this.turn = (this.turn || 0) + 1;
    const body = {persona: form.elements.persona.value, route: form.elements.route.value, variant: this.variant};
    body[typeof wording === "string" ? "text" : "messages"] = wording;
    try {
      const told = await (await send(`${this.path}/resolved`, {method: "POST", body})).json();
      if (turn !== this.turn) return;
      const {built, tokens} = told, out = [make("p", "", `About ${tokens.tokens} tokens`)];
      for (const one of built.skipped || []) if (one.block === this.block) out.push(make("p", "note", `Stays out: ${one.reason}`));
      for (const one of built.unresolved || []) out.push(make("p", "hint", `No value for {{${one.placeholder}}}`));
      if (built.messages) for (const one of built.messages) out.push(make("p", "who", one.role), make("pre", "told", one.text));
      else out.push(make("pre", "told", built.text || "(nothing)"));
      place.replaceChildren(...out);
    } catch (error) {
      if (turn === this.turn) tell(place, error.message, {bad: true});
    }
  }

  // Acts

  clicked(event) {
    const message = event.target.closest("[data-message-act]");
    if (message) return this.turnAct(message);
    const button = event.target.closest("[data-act]");
    if (!button) return;
    const acts = {
      save: () => this.save(),
      discard: () => this.discard(),
      duplicate: () => this.duplicate(),
      rename: () => this.rename(),
      move: () => this.move(),
      delete: () => this.remove_(),
      reset: () => this.reset(),
      undo: () => this.back(false),
      redo: () => this.back(true),
      variant: () => this.newVariant(),
      unword: () => this.unword(),
    };
    acts[button.dataset.act]?.();
  }

  async discard() {
    const yes = await ask({title: "Discard what you changed?", words: this.dirtyWords(), answers: [["no", "Stay"], ["yes", "Discard", "primary"]]});
    if (!yes) return;
    this.known = this.state();
    leave(location.pathname + location.search, "Nothing was changed.");
  }

  async act(work, {path, words}) {
    if (this.dirty) return tell(this.notice, "Save or discard what you changed first.", {bad: true});
    try {
      const done = await withYes(work);
      if (!done) return;
      this.channel?.postMessage({saved: this.block});
      const told = await done.json();
      leave(path || location.pathname + location.search, `${words} ${effectWords(told)}`);
    } catch (error) {
      if (error.status === 412) this.look();
      tell(this.notice, error.message, {bad: true});
    }
  }

  async duplicate() {
    const said = await ask({title: `Duplicate ${this.dataset.name}`, fields: [{name: "id", label: "Id of the copy", value: `${this.block}_copy`, pattern: idPattern}, {name: "name", label: "Name", value: `${this.dataset.name} (copy)`}], answers: [["no", "Go back"], ["yes", "Duplicate", "primary"]]});
    if (said) this.act(() => send(`${this.path}/copy`, {method: "POST", body: {id: said.id, name: said.name}}), {path: `/studio/prompts/${encodeURIComponent(said.id)}`, words: "The copy is yours."});
  }

  async rename() {
    const said = await ask({title: `Rename ${this.block}`, words: "Its name is a setting below; this is its id.", fields: [{name: "id", label: "New id", value: this.block, pattern: idPattern}], answers: [["no", "Go back"], ["yes", "Rename", "primary"]]});
    if (said) this.act(({force}) => send(`${this.path}/place`, {method: "POST", tag: this.etag, body: {id: said.id, force: Boolean(force)}}), {path: `/studio/prompts/${encodeURIComponent(said.id)}`, words: "It has another id now."});
  }

  async move() {
    const said = await ask({title: "Keep it in another file", fields: [{name: "file", label: "File", value: `${this.block}.json`, pattern: "[^\\W_][\\w.\\-]*\\.json"}], answers: [["no", "Go back"], ["yes", "Move", "primary"]]});
    if (said) this.act(({force}) => send(`${this.path}/place`, {method: "POST", tag: this.etag, body: {file: said.file, force: Boolean(force)}}), {words: "It is kept there now."});
  }

  async remove_() {
    const yes = await ask({title: `Delete ${this.dataset.name}?`, words: "Its history stays: Undo on its history page brings it back.", answers: [["no", "Go back"], ["yes", "Delete", "primary"]]});
    if (yes) this.act(() => send(this.path, {method: "DELETE", tag: this.etag}), {path: `${location.pathname}/history`, words: "It is removed."});
  }

  async reset() {
    const yes = await ask({title: `Restore ${this.dataset.name}?`, words: "Every change of yours to this block goes: words, settings and order. Undo brings them back.", answers: [["no", "Go back"], ["yes", "Restore", "primary"]]});
    if (yes) this.act(() => send(`${this.path}/reset`, {method: "POST", tag: this.etag}), {words: "It is as shipped."});
  }

  back(redo) {
    this.act(({force}) => send(`${this.path}/undo`, {method: "POST", tag: this.etag, body: {redo, force: Boolean(force)}}), {words: redo ? "The undo is taken back." : "The last change is taken back."});
  }

  async newVariant() {
    const said = await ask({title: "New wording", words: "A variant such as compact, or one for a language: default@german.", fields: [{name: "name", label: "Variant", pattern: "[\\w\\-]+(@[\\w\\-]+)?"}], answers: [["no", "Go back"], ["yes", "Write it", "primary"]]});
    if (!said) return;
    const link = make("a");
    link.href = `${location.pathname}?variant=${encodeURIComponent(said.name)}`;
    document.body.append(link);
    link.click();
    link.remove();
  }

  unword() {
    this.act(({force}) => send(this.path, {method: "PATCH", tag: this.etag, body: {remove: true, variant: this.variant, force: Boolean(force)}}), {words: `The wording ${this.variant} is taken away.`});
  }

  // Dialogues

  turnAct(button) {
    const list = this.querySelector(".messages"), item = button.closest("[data-message]");
    const act = button.dataset.messageAct;
    if (act === "add") list.append(this.messageRow());
    else if (act === "remove") item.remove();
    else if (act === "up") item.previousElementSibling?.before(item);
    else if (act === "down") item.nextElementSibling?.after(item);
    this.alternate(this.querySelector('[name="starts"]:checked').value);
    if (act === "add") list.lastElementChild.querySelector("mentis-editor").focus();
    this.changed();
  }

  messageRow() {
    const item = make("li"), who = make("p", "who"), editor = make("mentis-editor", "field"), area = make("textarea");
    item.dataset.message = "";
    who.append(make("span"));
    who.firstChild.dataset.roleWord = "";
    for (const [act, sign] of [["up", "↑"], ["down", "↓"], ["remove", "×"]]) {
      const button = make("button", "quiet", sign);
      button.type = "button";
      button.dataset.messageAct = act;
      who.append(button);
    }
    area.rows = 3;
    area.setAttribute("aria-label", "New message");
    editor.append(area);
    item.append(who, editor);
    return item;
  }

  // Roles take turns; what the system says stays the system's.
  alternate(first) {
    const words = {up: "up", down: "down"};
    let role = first;
    [...this.querySelectorAll("[data-message]")].forEach((item, place) => {
      if (item.dataset.role !== "system") {
        item.dataset.role = role;
        role = role === "user" ? "assistant" : "user";
      }
      item.querySelector("[data-role-word]").textContent = item.dataset.role;
      item.querySelector("mentis-editor").label = `Message ${place + 1}`;
      for (const button of item.querySelectorAll("[data-message-act]")) {
        const act = button.dataset.messageAct;
        button.setAttribute("aria-label", words[act] ? `Message ${place + 1} ${words[act]}` : `Remove message ${place + 1}`);
      }
    });
  }
}

function valueOf(field) {
  const text = field.value.trim();
  switch (field.dataset.kind) {
    case "flag": return field.checked;
    case "number": return text === "" ? null : Number(text);
    case "list": return text.split(",").map((one) => one.trim()).filter(Boolean);
    case "optional": return text || null;
    default: return field.value;
  }
}

function plain(wording) {
  if (!wording) return "";
  if (typeof wording.content === "string" && wording.content) return wording.content;
  return Array.isArray(wording.messages) ? wording.messages.map((one) => `${one.role}: ${one.content}`).join("\n\n") : "";
}

customElements.define("mentis-block", MentisBlock);
