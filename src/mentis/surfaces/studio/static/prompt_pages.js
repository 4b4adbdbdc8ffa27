// The smaller pages about prompts: each changes something over the API, and shows the page anew.
import {api, arrived, ask, blocks, change, leave, make, send, tell, withYes} from "./prompt_shared.js";
import {compare} from "./prompt_editor.js";

const here = () => location.pathname + location.search;

class PromptPage extends HTMLElement {
  connectedCallback() {
    this.notice = this.querySelector("[data-notice]");
    this.prepare();
  }

  on(event, selector, act) {
    for (const one of this.querySelectorAll(selector)) one.addEventListener(event, (happened) => {
      if (event === "submit") happened.preventDefault();
      act(one);
    });
  }

  async try(work, {path = here(), words}) {
    try {
      const done = await withYes(work);
      if (done) leave(path, words);
    } catch (error) {
      tell(this.notice, error.message, {bad: true});
    }
  }
}

customElements.define("mentis-new-block", class extends PromptPage {
  prepare() {
    this.on("submit", "[data-new]", (form) => {
      const given = Object.fromEntries(new FormData(form)), path = `/studio/prompts/${encodeURIComponent(given.id)}`;
      if (this.dataset.copy) return this.try(() => send(`${blocks}/${encodeURIComponent(this.dataset.copy)}/copy`, {method: "POST", body: given}), {path, words: "The copy is yours."});
      const {type, text, order, ...rest} = given;
      const said = type === "text" ? {text} : {messages: [{role: "user", content: text}]};
      this.try((yes) => send(blocks, {method: "POST", body: {...rest, ...said, order: Number(order), ...yes}}), {path, words: "The block is there, and told from the next turn on."});
    });
    const form = this.querySelector("[data-new]");
    // A dialogue is told among the messages.
    form?.elements.type?.addEventListener("change", () => {
      const dialogue = form.elements.type.value === "multi_turn";
      form.elements.target.value = dialogue ? "message" : "system_prompt";
      form.elements.position.value = dialogue ? "consent_dialog" : "system_prompt";
      if (dialogue) form.elements.category.value = "dialog_injection";
    });
    form?.elements.id.focus();
  }
});

customElements.define("mentis-placeholders", class extends PromptPage {
  prepare() {
    const path = `${api}/prompts/placeholders`;
    this.on("submit", "[data-new-key]", (form) => {
      const given = Object.fromEntries(new FormData(form));
      this.try(() => send(path, {method: "POST", body: given}), {words: `{{${given.key}}} can be used now.`});
    });
    this.on("click", "[data-register]", (button) => {
      const details = this.querySelector("details"), form = this.querySelector("[data-new-key]");
      details.open = true;
      form.elements.key.value = button.dataset.register;
      form.elements.default.focus();
    });
    this.on("click", "[data-delete]", async (button) => {
      const key = button.dataset.delete;
      const yes = await ask({title: `Delete {{${key}}}?`, words: "Texts that use it are told as they stand.", answers: [["no", "Go back"], ["yes", "Delete", "primary"]]});
      if (yes) this.try(() => change(`${path}/${encodeURIComponent(key)}`, {method: "DELETE"}), {words: `{{${key}}} is removed.`});
    });
  }
});

customElements.define("mentis-conflicts", class extends PromptPage {
  prepare() {
    for (const clash of this.querySelectorAll(".clash")) {
      const sides = clash.querySelector("[data-sides]"), theirs = clash.querySelector("[data-theirs]");
      const place = make("div", "merge");
      sides.after(place);
      compare(place, {left: clash.querySelector("[data-ours]").textContent, right: theirs.textContent, labels: ["Yours", "Shipped now"]}).then(() => sides.classList.add("heads"));
    }
    this.on("click", "[data-take]", (button) => {
      const {block, field} = button.closest(".clash").dataset, path = `${blocks}/${encodeURIComponent(block)}`;
      this.try(() => change(`${path}/settle`, {look: path, body: {field, take: button.dataset.take}}), {words: button.dataset.take === "ours" ? "Yours is kept." : "The shipped one is told from now on."});
    });
  }
});

customElements.define("mentis-history", class extends PromptPage {
  prepare() {
    const path = `${blocks}/${encodeURIComponent(this.dataset.id)}/undo`;
    // A block that was removed has no state of its own to hold the edit against.
    const go = (body, words) => this.try(({force}) => send(path, {method: "POST", tag: "*", body: {...body, force: Boolean(force)}}), {path: location.pathname, words});
    this.on("click", "[data-act=undo]", () => go({}, "The last change is taken back."));
    this.on("click", "[data-act=redo]", () => go({redo: true}, "The undo is taken back."));
    this.on("click", "[data-to]", (button) => go({to: Number(button.dataset.to)}, `It is as in revision ${button.dataset.to}.`));
  }
});

customElements.define("mentis-files", class extends PromptPage {
  prepare() {
    const library = `${api}/prompts/library`;
    this.on("submit", "[data-import]", (form) => this.plan(form));
    this.on("click", "[data-undo]", (button) => this.try(() => change(`${api}/prompts/undo`, {look: library, body: {what: button.dataset.undo}}), {words: `The last ${button.dataset.undo} is taken back.`}));
    this.on("submit", "[data-reset]", async (form) => {
      const scope = new FormData(form).get("scope");
      const yes = await ask({title: "Reset all prompts?", words: scope === "full" ? "Your changes and the blocks that you made go. It can be taken back." : "Your changes of shipped blocks go. It can be taken back.", answers: [["no", "Go back"], ["yes", "Reset", "primary"]]});
      if (yes) this.try(() => change(`${api}/prompts/reset`, {look: library, body: {scope}}), {words: "The prompts are as shipped."});
    });
  }

  async plan(form) {
    const {mode, file} = Object.fromEntries(new FormData(form)), force = form.elements.force.checked;
    const query = `mode=${mode}&force=${force}`, place = this.querySelector("[data-plan]"), raw = await file.arrayBuffer();
    try {
      const {rows, problems} = await (await send(`${api}/prompts/import/plan?${query}`, {method: "POST", raw})).json();
      const shown = rows.slice(0, 200), list = make("ul", "omitted plan");
      for (const one of shown) {
        const item = make("li"), first = make("p");
        first.append(make("span", "tag", one.what), ` ${one.kind === "placeholder" ? `{{${one.block}}}` : one.block}`);
        item.append(first);
        const more = [one.fields.slice(0, 6).join(", "), one.note].filter(Boolean).join(". ");
        if (more) item.append(make("p", "hint", more));
        list.append(item);
      }
      for (const one of problems) list.prepend(make("li", one.severity === "error" ? "problem" : "note", one.message));
      const button = make("button", "primary", "Import these");
      button.type = "button";
      button.disabled = problems.some((one) => one.severity === "error");
      button.addEventListener("click", () => this.try(() => change(`${api}/prompts/import?${query}`, {look: `${api}/prompts/library`, raw}), {words: "The prompts are imported."}));
      place.replaceChildren(make("h3", "", `What it would do (${rows.length})`), list);
      if (rows.length > shown.length) place.append(make("p", "hint", `and ${rows.length - shown.length} more`));
      place.append(button);
      button.focus();
    } catch (error) {
      place.replaceChildren();
      tell(this.notice, error.message, {bad: true});
    }
  }
});

customElements.define("mentis-memory-file", class extends PromptPage {
  prepare() {
    const {persona, file, etag, updatesTag} = this.dataset;
    this.path = `${api}/personas/${encodeURIComponent(persona)}/files/${file}`;
    this.tag = etag;
    this.editor = this.querySelector("mentis-editor");
    const first = this.editor?.first, save = this.querySelector('[data-act="save"]');
    const dirty = () => this.editor && this.editor.value !== first && !this.done;
    this.addEventListener("mentis-text", () => {
      if (save) save.disabled = !dirty();
      const size = this.querySelector("[data-size]"), limit = Number(size.dataset.limit), length = this.editor.value.length;
      size.textContent = `${length.toLocaleString("en")} of ${limit.toLocaleString("en")} characters${length > limit ? ": too long" : ""}`;
    });
    window.addEventListener("beforeunload", (event) => { if (dirty() && save) event.preventDefault(); });
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s" && save) { event.preventDefault(); this.save(); }
    });
    this.on("click", '[data-act="save"]', () => this.save());
    this.on("click", '[data-act="undo"]', () => this.write(`${this.path}/undo`, "POST", undefined, "The last change is taken back."));
    this.on("click", '[data-act="reset"]', async () => {
      const yes = await ask({title: "Put the template back?", words: "What the persona kept here goes. Undo brings it back.", answers: [["no", "Go back"], ["yes", "Put it back", "primary"]]});
      if (yes) this.write(`${this.path}/reset`, "POST", undefined, "The template is back.");
    });
    this.on("submit", "[data-updates]", (form) => this.try(() => send(`${api}/memory-updates`, {method: "PUT", tag: updatesTag, body: {enabled: form.elements.enabled.checked, frequency: form.elements.frequency.value}}), {words: "It counts from the next turn on."}));
  }

  save(force = false) {
    return this.write(this.path, "PUT", {text: this.editor.value, force}, "Saved. It is told from the next turn on.");
  }

  async write(path, method, body, words) {
    try {
      await send(path, {method, body, tag: this.tag});
      this.done = true;
      leave(here(), words);
    } catch (error) {
      if (error.facts?.old !== undefined && body && !body.force) {
        const yes = await ask({title: "Let more than half of it go?", words: error.message, answers: [["no", "Go back"], ["yes", "Save all the same", "primary"]]});
        if (yes) await this.save(true);
      } else if (error.status === 412) await this.conflict();
      else tell(this.notice, error.message, {bad: true});
    }
  }

  async conflict() {
    const response = await send(this.path), now = await response.json();
    const place = make("div", "merge"), mine = make("button", "primary", "Save mine over it");
    mine.type = "button";
    this.notice.replaceChildren(make("p", "note", "The file was changed since this page was opened, perhaps by the persona itself. Left: what is saved now. Right: what you wrote."), place, mine);
    const read = await compare(place, {left: now.text, right: this.editor.value, labels: ["What is saved now", "What you wrote"], editable: true});
    mine.addEventListener("click", () => { this.tag = response.headers.get("etag"); this.editor.value = read(); this.save(); });
  }
});
