// <mentis-prompts>: the list of blocks, where they are switched and moved; keys of every page here.
import {api, arrived, blocks, effectWords, make, send, tell, withYes} from "./prompt_shared.js";

const pages = {n: "/studio/prompts/-/new", p: "/studio/prompts/-/preview", k: "/studio/prompts/-/kinds"};

class MentisPrompts extends HTMLElement {
  connectedCallback() {
    this.notice = this.querySelector("[data-told]") || this.querySelector("[data-notice]");
    this.addEventListener("click", (event) => {
      const toggle = event.target.closest("[data-toggle]");
      if (toggle) this.toggle(toggle);
    });
    this.addEventListener("keydown", (event) => this.moveByKey(event));
    this.prepareDragging();
    for (const form of this.querySelectorAll("[data-submits]")) {
      form.addEventListener("change", () => form.requestSubmit());
      form.querySelector("button").hidden = true;
    }
    if (!window.mentisPromptKeys) {
      window.mentisPromptKeys = true;
      document.addEventListener("keydown", pressed);
    }
    if (!this.closest(".prompt")) {
      const words = arrived();
      if (words) tell(this.notice, words);
    }
  }

  async toggle(button) {
    const entry = button.closest(".entry"), on = button.getAttribute("aria-checked") !== "true";
    button.disabled = true;
    try {
      const path = `${blocks}/${encodeURIComponent(entry.dataset.id)}/toggle`;
      const done = await withYes(({force}) => send(path, {method: "POST", tag: "*", body: {enabled: on, force: Boolean(force)}}));
      if (done) {
        button.setAttribute("aria-checked", String(on));
        button.querySelector(".word").textContent = on ? "on" : "off";
        entry.classList.toggle("off", !on);
        tell(this.notice, `${button.getAttribute("aria-label")} is ${on ? "on" : "off"}. ${effectWords(await done.json())}`);
        await this.learn();
        document.dispatchEvent(new CustomEvent("mentis-block-changed", {detail: entry.dataset.id}));
      }
    } catch (error) {
      tell(this.notice, error.message, {bad: true});
    }
    button.disabled = false;
    button.focus();
  }

  moveByKey(event) {
    const handle = event.target.closest?.("[data-handle]");
    if (!handle || !["ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const entry = handle.closest(".entry"), list = entry.parentElement;
    const entries = [...list.querySelectorAll(":scope > .entry")], here = entries.indexOf(entry);
    const last = entries.length - 1;
    const to = {ArrowUp: here - 1, ArrowDown: here + 1, Home: 0, End: last}[event.key];
    if (to < 0 || to > last || to === here) return;
    if (to > here) entries[to].after(entry);
    else entries[to].before(entry);
    handle.focus();
    // One step may be followed by others: they are sent together.
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.place(entry), 250);
  }

  prepareDragging() {
    let dragged = null;
    this.addEventListener("dragstart", (event) => {
      dragged = event.target.closest?.("[data-handle]")?.closest(".entry") || null;
      if (!dragged) return;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", dragged.dataset.id);
      event.dataTransfer.setDragImage(dragged, 12, 12);
      dragged.classList.add("dragged");
    });
    this.addEventListener("dragover", (event) => {
      const over = event.target.closest?.(".entry");
      if (!dragged || !over || over.parentElement !== dragged.parentElement) return;
      event.preventDefault();
      const box = over.getBoundingClientRect();
      if (over !== dragged) event.clientY > box.top + box.height / 2 ? over.after(dragged) : over.before(dragged);
    });
    this.addEventListener("drop", (event) => { if (dragged) event.preventDefault(); });
    this.addEventListener("dragend", () => {
      if (!dragged) return;
      dragged.classList.remove("dragged");
      this.place(dragged);
      dragged = null;
    });
  }

  // Gives a block the place where it stands now, and as few others as need be another one.
  async place(entry) {
    const order = (one) => one === null || one === undefined ? null : Number(one.dataset.order);
    const before = order(entry.previousElementSibling?.closest("[data-order]"));
    let after = entry.nextElementSibling, next = order(after?.closest("[data-order]"));
    const places = {};
    if (before === null && next === null) return;
    if (before === null) places[entry.dataset.id] = next - 10;
    else if (next === null) places[entry.dataset.id] = before + 10;
    else if (next > before) places[entry.dataset.id] = (before + next) / 2;
    else {
      let last = before + 1;
      places[entry.dataset.id] = last;
      for (; after?.dataset.id && order(after) <= last; after = after.nextElementSibling) places[after.dataset.id] = ++last;
    }
    const moved = places[entry.dataset.id];
    if (moved === order(entry)) return;
    try {
      const known = await send(`${api}/prompts/library`), library = await known.json();
      if (this.dataset.revision && library.revision !== this.dataset.revision) throw new Error("The blocks were changed elsewhere meanwhile, so nothing was moved. Reload to see how they are now");
      const done = await withYes(({force}) => send(`${api}/prompts/order`, {method: "PUT", tag: known.headers.get("etag"), body: {places, force: Boolean(force)}}));
      if (!done) throw new Error("Nothing was moved. Reload to see how it is");
      for (const [id, place] of Object.entries(places)) {
        const one = this.querySelector(`.entry[data-id="${CSS.escape(id)}"]`);
        one.dataset.order = place;
        one.querySelector(".order").textContent = String(place);
      }
      tell(this.notice, `${entry.querySelector(".name").textContent} stands at ${moved} now. ${effectWords(await done.json())}`);
      await this.learn();
      document.dispatchEvent(new CustomEvent("mentis-block-changed", {detail: entry.dataset.id}));
    } catch (error) {
      tell(this.notice, error.message, {bad: true, acts: [["Reload", () => location.reload()]]});
    }
  }

  async learn() {
    this.dataset.revision = (await (await send(`${api}/prompts/library`)).json()).revision;
  }
}

function pressed(event) {
  const key = event.key.toLowerCase();
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && key === "f") {
    const field = [...document.querySelectorAll("[data-search]")].find((one) => one.offsetParent);
    if (!field || document.activeElement === field) return;  // then the browser's own search
    event.preventDefault();
    field.focus();
    field.select();
    return;
  }
  const chosen = (event.ctrlKey || event.metaKey) && event.shiftKey ? key : event.altKey && key === "n" ? "n" : "";
  if (chosen === "d") {
    const button = document.querySelector('[data-act="duplicate"]');
    if (button) { event.preventDefault(); button.click(); }
  } else if (pages[chosen]) {
    event.preventDefault();
    const link = make("a");  // by a click, so that unsaved words are asked about
    link.href = pages[chosen];
    document.body.append(link);
    link.click();
    link.remove();
  }
}

customElements.define("mentis-prompts", MentisPrompts);
