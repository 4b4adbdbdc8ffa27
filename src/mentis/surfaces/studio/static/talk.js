// <mentis-talk>: says things over the API, shows the answer as it comes, then asks the server for
// the page as it is now.
const api = "/mentis/v1";

function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      let name = "message", data = "";
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) name = line.slice(7);
        else if (line.startsWith("data: ")) data += line.slice(6);
      }
      if (data) yield {name, data: JSON.parse(data)};
    }
  }
}

async function problemOf(response) {
  const told = await response.json().catch(() => ({}));
  return new Error([told.detail || told.title || response.statusText, told.hint].filter(Boolean).join(". "));
}

// The answer while it is made.
class LiveAnswer {
  constructor(place, name, words) {
    this.root = make("article", "exchange last");
    if (words) {
      const said = make("div", "said");
      said.append(make("p", "who", "You"), make("div", "words", words));
      this.root.append(said);
    }
    this.answer = make("div", "answer");
    this.answer.append(make("p", "who", name));
    this.root.append(this.answer);
    this.state = make("p", "hint working", "reads");
    this.root.append(this.state);
    place.append(this.root);
    this.fresh();
  }

  fresh() { this.text = null; this.thought = null; this.calls = new Map(); }

  detail(mark, words, name) {
    const details = make("details", "act"), summary = make("summary");
    summary.append(make("span", "mark", mark), ` ${words} `);
    if (name) summary.append(make("b", "", name));
    details.append(summary);
    this.answer.append(details);
    return details;
  }

  tell({name, data}) {
    // Whoever scrolled up to read stays there.
    const atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 120;
    const shown = {text: "writes", reasoning: "thinks", call: "asks for something", result: "reads"};
    if (shown[name]) this.state.textContent = shown[name];
    if (name === "text") {
      if (!this.text) this.answer.append(this.text = make("div", "words"));
      this.text.append(data.text);
    } else if (name === "reasoning") {
      if (!this.thought) this.detail("·", "thought first").append(this.thought = make("div", "words"));
      this.thought.append(data.text);
    } else if (name === "call") {
      if (!this.calls.has(data.index)) {
        const pre = make("pre");
        this.detail("→", "asks for", data.name).append(pre);
        this.calls.set(data.index, pre);
      }
      this.calls.get(data.index).append(data.arguments || "");
    } else if (name === "result") {
      const words = data.state === "done" ? "came back from" : `${data.state}:`;
      this.detail(data.state === "done" ? "←" : "✕", words, data.name).append(make("pre", "", data.text));
    } else if (name === "step") {
      this.fresh();
    } else if (name === "again") {
      if (!data.keeps) this.text?.remove();
      this.fresh();
    }
    if (atEnd) this.root.scrollIntoView({block: "end"});
  }

  fail(error) {
    this.state.className = "problem";
    this.state.setAttribute("role", "alert");
    this.state.textContent = error.message;
  }
}

class MentisTalk extends HTMLElement {
  connectedCallback() {
    const {persona, session} = this.dataset;
    this.persona = `${api}/personas/${persona}`;
    this.path = `${this.persona}/sessions/${session}`;
    this.form = this.querySelector("[data-composer]");
    this.attached = [];
    this.leafed = new Map();
    this.addEventListener("click", (event) => this.clicked(event));
    this.addEventListener("keydown", (event) => this.pressed(event));
    // What somebody is writing stays until they are done with it; then the page is as it is by now.
    this.addEventListener("htmx:before:swap", (event) => {
      const {id} = event.target;
      if (!(id === "room" && this.editing) && !(id === "head" && this.querySelector("form.rename"))) return;
      event.preventDefault();
      if (id === "room") this.stale = true;
    });
    this.addEventListener("htmx:after:swap", (event) => { if (event.target.id === "room") this.leafBack(); });
    if (this.form) this.prepareForm();
    this.follow();
    const last = this.querySelector(".exchange.last");
    if (last && !location.hash) last.scrollIntoView({block: "end"});
    this.form?.elements.text.focus({preventScroll: true});
  }

  disconnectedCallback() { this.news?.close(); }

  get editing() { return Boolean(this.querySelector(".exchange form")); }

  prepareForm() {
    const words = this.form.elements.text;
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
    words.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.send(); }
    });
    words.value = this.findDraft();
    words.addEventListener("input", () => this.keepDraft(words.value));
    words.addEventListener("paste", (event) => this.attach(event.clipboardData.files));
    this.form.querySelector("[data-attach]").addEventListener("change", (event) => this.attach(event.target.files));
    for (const [name, on] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
      this.addEventListener(name, (event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        this.form.classList.toggle("dropping", on);
        if (name === "drop") this.attach(event.dataTransfer.files);
      });
    }
  }

  async attach(files) {
    for (const file of files) {
      const url = await new Promise((done, fail) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result);
        reader.onerror = () => fail(reader.error);
        reader.readAsDataURL(file);
      });
      this.attached.push({name: file.name, data: url.slice(url.indexOf(",") + 1)});
    }
    this.showFiles();
  }

  showFiles() {
    const list = this.form.querySelector("[data-files]");
    list.hidden = !this.attached.length;
    list.replaceChildren(...this.attached.map((file, place) => {
      const item = make("li"), gone = make("button", "quiet", "×");
      gone.type = "button";
      gone.setAttribute("aria-label", `Leave out ${file.name}`);
      gone.addEventListener("click", () => { this.attached.splice(place, 1); this.showFiles(); });
      item.append(make("span", "tag", "file"), ` ${file.name} `, gone);
      return item;
    }));
  }

  send() {
    const field = this.form.elements.text, text = field.value.trim();
    if (this.busy || (!text && !this.attached.length)) return;
    const body = {text, attachments: this.attached};
    field.value = "";
    this.attached = [];
    this.showFiles();
    this.keepDraft(text);
    this.ask("/turns", body, text || "(files)").then((done) => {
      if (done) { this.keepDraft(field.value); return; }
      field.value = text;
      this.attached = body.attachments;
      this.showFiles();
    });
  }

  // What was typed and not sent is there again after a reload.
  keepDraft(text) {
    try {
      if (text) sessionStorage.setItem(location.pathname, text);
      else sessionStorage.removeItem(location.pathname);
    } catch { /* nothing is kept in this browser */ }
  }

  findDraft() {
    try { return sessionStorage.getItem(location.pathname) || ""; } catch { return ""; }
  }

  // One turn: true once it has ended well, or is kept although the server went away.
  async ask(path, body, words) {
    this.setBusy(true);
    this.querySelector("#live").replaceChildren();
    const live = new LiveAnswer(this.querySelector("#live"), this.dataset.name, words);
    let done = false;
    try {
      const response = await fetch(this.path + path, {
        method: "POST",
        headers: {"content-type": "application/json", accept: "text/event-stream"},
        body: JSON.stringify(body),
      });
      if (!response.ok) throw await problemOf(response);
      for await (const event of eventsOf(response)) {
        if (event.name === "error") throw new Error([event.data.detail || event.data.title, event.data.hint].filter(Boolean).join(". "));
        if (event.name === "end") done = true;
        else live.tell(event);
      }
      if (!done) throw new TypeError("the stream ended");
      this.setBusy(false);  // from here on the next thing may be said, which is busy by itself
    } catch (error) {
      // A TypeError is what a connection that ended gives.
      if (error instanceof TypeError && !done) done = await this.recover(live, words);
      else live.fail(error);
      this.setBusy(false);
      return done;
    }
    await this.refresh(live).catch((error) => live.fail(error));
    return true;
  }

  // The server went away in the middle: wait until it is back, and show what was kept.
  async recover(live, words) {
    live.fail(new Error(`The server stopped while ${this.dataset.name} answered. This page waits until it is back.`));
    for (let wait = 500; ; wait = Math.min(wait * 2, 5000)) {
      await new Promise((done) => setTimeout(done, wait));
      const response = await fetch(`${location.pathname}.json`).catch(() => null);
      if (response?.status === 401) {
        live.fail(new Error("The server is back, and does not know this browser any more. What was said is kept."));
        const enter = make("a", "button", "Sign in again");
        enter.href = location.pathname;
        live.root.append(enter);
        return true;
      }
      if (!response?.ok) continue;
      const said = (await response.json()).exchanges.at(-1)?.said;
      const kept = said && (said.text === words || (words === "(files)" && !said.text));
      await this.refresh();
      live.fail(new Error(kept
        ? "The server was stopped in the middle of the answer. What it kept is shown here. Have it answered again."
        : "The server was stopped before it kept your message. It stands below: send it again."));
      return Boolean(kept);
    }
  }

  async act(path, {method = "POST", body, tag} = {}) {
    const headers = {"content-type": "application/json"};
    if (tag) headers["if-match"] = tag;
    const response = await fetch(path, {method, headers, body: body === undefined ? undefined : JSON.stringify(body)});
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  async decide(kind, key, button) {
    const place = button.closest(".waiting");
    for (const one of place.querySelectorAll("button")) one.disabled = true;
    const path = `${this.persona}/acts/${encodeURIComponent(key)}`;
    try {
      const known = await this.act(path, {method: "GET"});
      const words = make("p", "hint working", kind === "approve" ? "It is being done" : "It is told so");
      place.append(words);
      await this.act(`${path}/${kind}`, {body: {resume: true}, tag: known.headers.get("etag")});
      await this.refresh();
    } catch (error) {
      place.append(Object.assign(make("p", "problem", error.message), {role: "alert"}));
    }
  }

  clicked(event) {
    const swipe = event.target.closest("[data-swipe]");
    if (swipe) return this.swipe(swipe.closest(".exchange"), Number(swipe.dataset.swipe));
    const button = event.target.closest("[data-act]");
    if (!button || (this.busy && button.dataset.act !== "interrupt")) return;
    const exchange = button.closest(".exchange"), {act, key, number} = button.dataset;
    if (act === "approve" || act === "deny") this.decide(act, key, button);
    else if (act === "opening") this.ask("/opening", {});
    else if (act === "regenerate") this.ask("/regenerate", {});
    else if (act === "interrupt") this.act(`${this.path}/interrupt`);
    else if (act === "edit") this.edit(exchange);
    else if (act === "rename") this.rename(button);
    else if (act === "branch") this.branch(Number(number), button);
  }

  pressed(event) {
    if (event.key === "Escape" && this.busy) this.act(`${this.path}/interrupt`);
    const at = event.target;
    if (at.closest("textarea, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const exchange = at.closest(".exchange");
    if (exchange && event.key === "ArrowLeft") this.swipe(exchange, -1);
    if (exchange && event.key === "ArrowRight") this.swipe(exchange, 1);
  }

  swipe(exchange, by) {
    const versions = [...exchange.querySelectorAll(".version")];
    const here = versions.findIndex((one) => !one.hidden), next = versions[here + by];
    if (!next) return;
    versions[here].hidden = true;
    next.hidden = false;
    this.leafed.set(exchange.dataset.number, {count: versions.length, place: here + by});
    (next.querySelector(`[data-swipe="${by}"]:enabled`) || next.querySelector("[data-swipe]:enabled"))?.focus();
  }

  // Whoever leafs through versions stays at theirs when the page is read anew.
  leafBack() {
    for (const [number, {count, place}] of this.leafed) {
      const versions = [...this.querySelectorAll(`.exchange[data-number="${number}"] .version`)];
      if (versions.length === count) versions.forEach((one, at) => { one.hidden = at !== place; });
      else this.leafed.delete(number);
    }
  }

  edit(exchange) {
    const words = exchange.querySelector(".version:not([hidden]) [data-words]") || exchange.querySelector("[data-words]");
    const said = words.closest(".said"), text = words.textContent;
    const form = make("form", "composer"), field = make("textarea"), save = make("button", "primary", "Say this instead"), back = make("button", "", "Leave it");
    field.value = text;
    field.setAttribute("aria-label", "Your message in other words");
    back.type = "button";
    form.append(field, save, back);
    said.hidden = true;
    said.after(form);
    field.focus();
    const close = () => {
      form.remove();
      said.hidden = false;
      if (this.stale && !this.busy) this.refresh();
      this.stale = false;
    };
    back.addEventListener("click", close);
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); close(); } });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const fresh = field.value.trim();
      if (!fresh) return;
      this.stale = false;  // the page is read anew after the answer
      close();
      this.ask(`/messages/${exchange.dataset.number}/edit`, {text: fresh}, fresh);
    });
  }

  rename(button) {
    const title = this.querySelector("[data-title]"), form = make("form", "rename");
    const field = make("input"), save = make("button", "primary", "Save"), back = make("button", "", "Leave it");
    field.value = title.textContent;
    field.maxLength = 120;
    field.setAttribute("aria-label", "Name of this conversation");
    back.type = "button";
    form.append(field, save, back);
    title.hidden = button.hidden = true;
    title.after(form);
    field.select();
    const close = () => { form.remove(); title.hidden = button.hidden = false; button.focus(); };
    const leave = async () => {
      close();
      await this.update("head_line", "head");  // it may have got a name meanwhile
      this.querySelector('[data-act="rename"]')?.focus();
    };
    back.addEventListener("click", leave);
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); leave(); } });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!field.value.trim()) return;
      try {
        const known = await this.act(this.path, {method: "GET"});
        const made = await this.act(`${this.path}/title`, {method: "PUT", body: {title: field.value}, tag: known.headers.get("etag")});
        title.textContent = (await made.json()).title;
        close();
        this.update("sessions");
      } catch (error) {
        form.append(Object.assign(make("p", "problem", error.message), {role: "alert"}));
      }
    });
  }

  async branch(number, button) {
    button.disabled = true;
    try {
      const made = await this.act(`${location.pathname}/branch`, {body: {number}});
      location.assign((await made.json()).path);
    } catch (error) {
      button.after(make("span", "problem", error.message));
      button.disabled = false;
    }
  }

  setBusy(on) {
    this.busy = on;
    if (!this.form) return;
    this.form.querySelector("[data-send]").hidden = on;
    this.form.querySelector('[data-act="interrupt"]').hidden = !on;
  }

  // The conversation and what stands beside it, as the server has them now.
  async refresh(live) {
    const begun = !this.querySelector('[data-act="rename"]') && this.querySelector("#live").hasChildNodes();
    await Promise.all([
      this.update("sessions"),
      this.update("room").then(() => live?.root.remove()),
      this.update("beside", "this-turn"),
      ...(begun ? [this.update("head_line", "head")] : []),
    ]);
    if (!this.editing) this.querySelector("#room .exchange.last")?.scrollIntoView({block: "end"});
  }

  update(part, place = part) {
    return htmx.ajax("GET", `${location.pathname}?part=${part}`, {target: `#${place}`, swap: "innerHTML"});
  }

  // What others do in this conversation, and what the persona says by itself.
  follow() {
    const open = () => {
      this.news?.close();
      this.news = new EventSource(`${this.persona}/events`);
      this.news.addEventListener("entry", (event) => {
        const told = JSON.parse(event.data);
        if (told.act) document.dispatchEvent(new Event("mentis-acts"));
        if (told.session === "beats") this.update("moments");
        const here = told.session === this.dataset.recorded;  // as the record names it, whoever talks
        if (!here || this.busy) return;
        clearTimeout(this.soon);
        this.soon = setTimeout(() => { if (!this.busy) this.refresh(); }, 300);
      });
    };
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) { this.news?.close(); return; }
      open();
      // What was said while nobody looked came with no news.
      this.news.addEventListener("open", () => {
        if (!this.busy) this.refresh();
        this.update("moments");
      }, {once: true});
    });
    if (!document.hidden) open();
  }
}

customElements.define("mentis-talk", MentisTalk);
