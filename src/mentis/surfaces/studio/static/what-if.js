// <mentis-what-if>: asks, while somebody types, what the text would do; tries it on a turn; saves it.
const api = "/mentis/v1";
const pause = 300; // milliseconds after the last key

function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function button(label, act, className = "") {
  const made = make("button", className, label);
  made.type = "button";
  made.dataset.act = act;
  return made;
}

const count = (number) => number.toLocaleString("en");

function dollars(usd) {
  if (usd === null || usd === undefined) return "price unknown";
  if (!usd) return "free";
  if (usd >= 1) return `$${usd.toFixed(2)}`;
  return `$${usd.toFixed(Math.max(2, 1 - Math.floor(Math.log10(usd))))}`;
}

async function ask(method, path, body, more = {}) {
  const response = await fetch(api + path, {
    method,
    headers: {...(body === undefined ? {} : {"content-type": "application/json"}), ...more.headers},
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: more.signal,
  });
  if (!response.ok) {
    const told = await response.json().catch(() => ({}));
    const words = [told.detail || told.title || response.statusText, told.hint].filter(Boolean).join(". ");
    throw Object.assign(new Error(words), {status: response.status, detail: told.detail || ""});
  }
  return response;
}

class MentisWhatIf extends HTMLElement {
  connectedCallback() {
    this.field = this.querySelector("[data-text]");
    if (!this.field) return;
    const {block, variant, etag} = this.dataset;
    this.tag = etag;  // of the text that stands here: what is saved meanwhile is another one
    this.path = `/prompts/blocks/${encodeURIComponent(block)}`;
    this.key = `what-if ${block} ${variant}`;
    this.saved = this.field.value = this.field.value.replaceAll("\r\n", "\n");
    this.entry = new URLSearchParams(location.search).get("entry") || "";
    this.restored = "";
    this.status = this.querySelector("[data-status]");
    this.save = this.querySelector("[data-save]");
    this.field.addEventListener("input", () => this.typed());
    this.addEventListener("click", (event) => this.clicked(event));
    this.addEventListener("change", (event) => this.chose(event));
    this.save?.addEventListener("submit", (event) => { event.preventDefault(); this.store(); });
    addEventListener("beforeunload", (event) => { if (this.changed && !this.going) event.preventDefault(); });
    // What was typed is kept by the tab: forms and links of the studio lose nothing.
    document.addEventListener("submit", () => { this.going = true; }, true);
    document.addEventListener("click", (event) => { if (event.target.closest("a[href]")) this.going = true; }, true);
    this.restore();
    this.look();
  }

  get changed() { return this.field.value !== this.saved; }

  get chosen() {
    const value = this.querySelector("[name=chosen]:checked")?.value || "";
    const at = value.indexOf("/");
    return {persona: value.slice(0, at), route: value.slice(at + 1)};
  }

  restore() {
    const draft = sessionStorage.getItem(this.key);
    if (draft === null || draft === this.saved) return;
    this.field.value = draft;
    this.mark();
    this.restored = "What you wrote before is back. ";
    this.status.textContent = `${this.restored}It is not saved.`;
  }

  typed() {
    this.restored = "";
    clearTimeout(this.waiting);
    this.mark();
    this.waiting = setTimeout(() => this.look(), pause);
  }

  mark() {
    if (this.changed) sessionStorage.setItem(this.key, this.field.value);
    else sessionStorage.removeItem(this.key);
    this.querySelector("[data-act=back]").hidden = !this.changed;
    const button = this.save?.querySelector("button");
    if (button) button.disabled = !this.changed;
    const asking = this.querySelector("[data-asking]");
    if (asking && !asking.querySelector("[data-act=price]") && asking.children.length) this.unprice();
  }

  // What the text would do: the chosen persona first, then the others, one after the other.
  async look() {
    this.looking?.abort();
    const looking = this.looking = new AbortController();
    const {persona, route} = this.chosen;
    const rows = [...this.querySelectorAll("[data-row]")];
    const personas = new Set([persona, ...rows.map((row) => row.dataset.row.split("/")[0])]);
    const text = this.field.value;
    this.setAttribute("aria-busy", "true");
    try {
      for (const one of personas) {
        const entry = one === persona && this.entry ? {entry: Number(this.entry)} : {};
        const body = {block: this.dataset.block, variant: this.dataset.variant, text, ...entry};
        if (one === persona) body.whole = route;
        const path = `/personas/${encodeURIComponent(one)}/what-if`;
        const told = await (await ask("POST", path, body, {signal: looking.signal})).json();
        for (const effect of told.effects) this.fill(effect);
        if (one === persona) this.tell(told, route);
      }
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error);
    } finally {
      if (this.looking === looking) this.removeAttribute("aria-busy");
    }
  }

  fill(effect) {
    const row = this.querySelector(`[data-row="${CSS.escape(`${effect.persona}/${effect.route}`)}"]`);
    if (!row) return;
    const cell = (name) => row.querySelector(`[data-cell=${name}]`);
    const about = effect.exact ? "" : "~";
    cell("wording").textContent = effect.wording;
    cell("tokens").replaceChildren(...pair(effect.tokens, (one) => about + count(one), count));
    cell("usd").replaceChildren(...pair(effect.usd, dollars, dollars));
    cell("kept").replaceChildren(...kept(effect));
    cell("again").replaceChildren(...again(effect));
  }

  tell(told, route) {
    const effect = told.effects.find((one) => one.route === route);
    if (!effect) return;
    this.wording = effect.wording;
    const [was, now] = effect.tokens;
    this.status.classList.remove("problem");
    this.status.textContent = this.changed
      ? `${this.restored}Not saved. ${effect.persona} on ${effect.route}: ${count(was)} tokens now, ${count(now)} with your text.`
      : "Nothing is saved by typing.";
    const basis = told.entry === null
      ? `Nothing was said to ${effect.persona} yet: a first greeting stands for a turn.`
      : `By the prompt of turn ${told.entry} of ${effect.persona}, told with the blocks of now. Prices are list prices of reading the prompt.`;
    this.querySelector("[data-basis]").textContent = basis;
    this.querySelector("[data-whose]").textContent = `${effect.persona} on ${effect.route}`;
    this.querySelector("[data-differences]").replaceChildren(...differences(effect, this.changed));
    const same = make("span", "same", effect.prompt.slice(0, effect.shared));
    const rest = effect.prompt.slice(effect.shared);
    this.querySelector("[data-prompt]").replaceChildren(same, ...(rest ? [make("span", "", rest)] : []));
  }

  fail(error) {
    this.status.classList.add("problem");
    this.status.textContent = error.message;
  }

  chose(event) {
    if (event.target.name === "chosen") {
      const {persona, route} = this.chosen;
      const other = persona !== this.dataset.persona;
      Object.assign(this.dataset, {persona, route});
      if (other) this.entry = "";
      this.place();
      if (other) this.turn("");
      this.look();
    } else if (event.target.matches("[data-turn]")) {
      this.entry = event.target.value;
      this.place();
      this.turn(this.entry);
      this.look();
    }
  }

  // The address says what is looked at, so that it can be handed on.
  place() {
    history.replaceState(null, "", `?${this.query()}`);
  }

  query(more = {}) {
    const {block, variant, persona, route} = this.dataset;
    const entry = this.entry ? {entry: this.entry} : {};
    return new URLSearchParams({block, variant, persona, route, ...entry, ...more});
  }

  turn() {
    return htmx.ajax("GET", `${location.pathname}?${this.query({part: "run"})}`, {target: "#run", swap: "innerHTML"});
  }

  clicked(event) {
    const act = event.target.closest("[data-act]")?.dataset.act;
    const acts = {
      back: () => this.take(this.saved), price: () => this.price(), run: () => this.run(),
      unprice: () => this.unprice(), theirs: () => this.take(this.theirs), mine: () => this.store(true),
      undo: () => this.undo(), weigh: () => this.weigh(), unweigh: () => this.unweigh(), compare: () => this.compare(),
    };
    acts[act]?.();
  }

  take(text) {
    this.field.value = text;
    this.querySelector("[data-conflict]")?.setAttribute("hidden", "");
    if (this.theirs !== undefined) this.saved = this.theirs;
    this.typed();
    this.field.focus();
  }

  // One turn

  get fork() {
    const entry = this.querySelector("[data-turn]").value;
    return `/personas/${encodeURIComponent(this.dataset.persona)}/entries/${entry}/fork`;
  }

  forked(more) {
    return {blocks: {[this.dataset.block]: this.field.value}, force: true, ...more};
  }

  unprice() {
    this.querySelector("[data-asking]").replaceChildren(button("See what it would cost", "price"));
  }

  async price() {
    const asking = this.querySelector("[data-asking]"), {fork} = this, text = this.field.value;
    asking.replaceChildren(make("span", "hint working", "Putting the turn together again"));
    try {
      const told = await (await ask("POST", fork, this.forked({}))).json();
      if (text !== this.field.value || fork !== this.fork) return this.unprice();  // a price of something else
      const read = told.now.cost.usd, most = told.most.usd;
      const all = read === null || most === null ? null : read + most;
      const sum = all === null ? "price unknown" : all ? `at most ${dollars(all)}` : "free";
      const words = `${told.before.model} reads ${count(told.now.tokens.total.tokens)} tokens (${dollars(read)}) and writes at most ${count(told.most.tokens)} (${dollars(most)}).`;
      asking.replaceChildren(make("span", "", words), button(`Run it: ${sum}`, "run", "primary"), button("Not now", "unprice"));
      const notes = [...told.notes];
      if (this.wording !== this.dataset.variant) notes.push(`The wording ${this.wording} is told there: in this trial your text stands in its place.`);
      for (const note of notes) asking.append(make("p", "note", note));
    } catch (error) {
      asking.replaceChildren(problem(error), button("See what it would cost", "price"));
    }
  }

  async run() {
    const place = this.querySelector("[data-answer]");
    const asking = this.querySelector("[data-asking]");
    asking.replaceChildren();
    place.replaceChildren(make("p", "hint working", "Asking"));
    try {
      const told = await (await ask("POST", this.fork, this.forked({live: true}))).json();
      place.replaceChildren(document.createTextNode(told.answer.text || "It said nothing."));
      for (const act of told.answer.not_done) place.append(make("p", "hint", `It asked for ${act.type}, which was not done.`));
      const link = make("a", "", "See its request");
      link.href = `/studio/blame/${encodeURIComponent(this.dataset.persona)}/${told.answer.entry.index}`;
      asking.replaceChildren(button("See what it would cost", "price"), link);
    } catch (error) {
      place.replaceChildren(problem(error));
      this.unprice();
    }
  }

  // Several messages

  get comparison() {
    const {persona, route} = this.chosen, contains = this.querySelector("[data-contains]").value;
    const lines = this.querySelector("[data-messages]").value.split("\n").map((line) => line.trim()).filter(Boolean);
    const messages = lines.map((message) => (contains ? {message, contains} : {message}));
    const b = {route, blocks: {[this.dataset.block]: this.field.value}};
    const body = {messages, a: {route}, b, repeat: Number(this.querySelector("[data-repeat]").value)};
    return {path: `/personas/${encodeURIComponent(persona)}/compare`, body};
  }

  unweigh(...more) {
    this.querySelector("[data-comparing]").replaceChildren(button("See what comparing costs", "weigh"), ...more);
  }

  async weigh() {
    const asking = this.querySelector("[data-comparing]"), {path, body} = this.comparison;
    if (!body.messages.length) return this.unweigh(problem(new Error("Write a message first.")));
    asking.replaceChildren(make("span", "hint working", "Putting the prompts together"));
    try {
      const told = await (await ask("POST", `${path}/plan`, body)).json();
      const most = told.most_usd === null ? "price unknown" : Number(told.most_usd) ? `at most ${dollars(Number(told.most_usd))}` : "free";
      this.weighed = JSON.stringify(body);
      asking.replaceChildren(make("span", "", `${told.planned[0].model} is asked ${count(told.calls)} times.`), button(`Compare: ${most}`, "compare", "primary"), button("Not now", "unweigh"));
      for (const note of told.notes) asking.append(make("p", "note", note));
    } catch (error) {
      this.unweigh(problem(error));
    }
  }

  async compare() {
    const {path, body} = this.comparison, place = this.querySelector("[data-compared]");
    if (JSON.stringify(body) !== this.weighed) return this.weigh(); // a price of something else
    this.querySelector("[data-comparing]").replaceChildren();
    place.replaceChildren(make("p", "hint working", "Asking"));
    try {
      place.replaceChildren(...compared(await (await ask("POST", path, {...body, confirm: true})).json()));
    } catch (error) {
      place.replaceChildren(problem(error));
    }
    this.unweigh();
  }

  // Saving

  async store(over = false) {
    const form = this.save.elements, saved = this.querySelector("[data-saved]"), text = this.field.value;
    saved.replaceChildren();
    if (over) this.querySelector("[data-conflict]").hidden = true;
    const body = {
      text, variant: this.dataset.variant, words: form.words.value,
      force: Boolean(form.force?.checked), unknown_placeholders: form.unknown.checked,
    };
    try {
      const response = await ask("PATCH", this.path, body, {headers: {"if-match": this.tag}});
      const told = await response.json();
      this.saved = text;
      this.tag = response.headers.get("etag") || (await ask("GET", this.path)).headers.get("etag");
      this.mark();
      form.words.value = "";
      const number = told.edits[0]?.number;
      saved.replaceChildren(`Saved as revision ${number}. `, button("Undo", "undo", "quiet"));
      this.look();
    } catch (error) {
      if (error.status === 412) return this.overtaken();
      if (error.detail.includes("is not registered")) this.querySelector("[data-unknown]").hidden = false;
      saved.replaceChildren(problem(error));
    }
  }

  async overtaken() {
    const response = await ask("GET", this.path);
    this.tag = response.headers.get("etag");
    this.conflict((await response.json()).variants[this.dataset.variant]?.content ?? "");
  }

  conflict(theirs) {
    this.theirs = theirs;
    const place = this.querySelector("[data-conflict]");
    const columns = make("div", "both"), left = make("div"), right = make("div"), choices = make("p", "choices");
    left.append(make("h3", "", "Saved meanwhile"), make("pre", "", theirs));
    right.append(make("h3", "", "Yours"), make("pre", "", this.field.value));
    columns.append(left, right);
    choices.append(button("Take the saved text", "theirs"), button("Save mine over it", "mine"));
    const note = make("p", "note", "This block was changed elsewhere since you opened it. Nothing of yours is lost: choose.");
    note.setAttribute("role", "alert");
    place.replaceChildren(note, columns, choices);
    place.hidden = false;
  }

  async undo() {
    const saved = this.querySelector("[data-saved]");
    try {
      await ask("POST", `${this.path}/undo`, {force: true}, {headers: {"if-match": this.tag}});
      const response = await ask("GET", this.path);
      this.tag = response.headers.get("etag");
      this.saved = (await response.json()).variants[this.dataset.variant]?.content ?? "";
      this.mark();
      saved.textContent = "Undone. Your text is still here, not saved.";
      this.look();
    } catch (error) {
      saved.replaceChildren(problem(error));
    }
  }
}

function problem(error) {
  const made = make("span", "problem", error.message);
  made.setAttribute("role", "alert");
  return made;
}

// Before and after, with the difference in words.
function pair([was, now], told, plain) {
  if (was === null || now === null) return ["price unknown"];
  if (was === now) return [told(now)];
  const more = now > was;
  const apart = make("span", `hint ${more ? "more-than" : "less-than"}`, `${plain(Math.abs(now - was))} ${more ? "more" : "less"}`);
  return [told(was) === told(now) ? told(now) : `${told(was)} → ${told(now)}`, apart];
}

function kept(effect) {
  const [bytes, all] = effect.bytes, [tokens, planned] = effect.kept;
  const share = all ? bytes / all : 1;
  const space = "http://www.w3.org/2000/svg", bar = document.createElementNS(space, "svg");
  bar.setAttribute("viewBox", "0 0 100 6");
  bar.setAttribute("preserveAspectRatio", "none");
  bar.setAttribute("class", "held");
  bar.setAttribute("aria-hidden", "true");
  for (const [name, width] of [["all", 100], ["part-kept", 100 * share]]) {
    const part = document.createElementNS(space, "rect");
    part.setAttribute("class", name);
    part.setAttribute("width", width);
    part.setAttribute("height", 6);
    bar.append(part);
  }
  const sizes = effect.cached ? `${count(tokens)} of ${count(planned)} tokens, ` : "";
  return [bar, make("span", "hint", `${Math.floor(100 * share)} %: ${sizes}${count(bytes)} of ${count(all)} bytes`)];
}

function again(effect) {
  if (!effect.changed) return [make("span", "hint", effect.reason || "nothing")];
  if (!effect.cached) return [make("span", "hint", "no cache is known of there")];
  if (!effect.again) return ["nothing"];
  const cost = effect.again_usd === null ? "price unknown" : `${dollars(effect.again_usd)} more, once`;
  return [`${count(effect.again)} tokens`, make("span", "hint", cost)];
}

function differences(effect, changed) {
  if (!effect.differences.length) {
    const words = changed ? `Nothing: ${effect.reason || "the prompt comes out the same"}.` : "Write something else above, and the difference stands here.";
    return [make("p", "empty", words)];
  }
  return effect.differences.map((one) => {
    const shown = make("pre", "diff");
    shown.tabIndex = 0;
    shown.append(make("span", "place", one.where));
    for (const line of one.diff.split("\n").slice(2)) {
      if (line.startsWith("@@") || !line) continue;
      shown.append(make("span", {"+": "added", "-": "removed"}[line[0]] || "", line));
    }
    return shown;
  });
}

const percent = (share) => `${Math.round(100 * share)} %`;

// Both sides with their sums, then every message with its answers.
function compared(told) {
  const made = [make("p", "", verdict(told))], names = ["As it is", "With your text"];
  const table = make("table"), head = make("tr"), body = make("tbody");
  for (const name of ["", "Passed", "Rate", "95 %", "Tokens in and out", "Cost"]) {
    const cell = make("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  told.sides.forEach((side, n) => {
    const row = make("tr"), rate = side.total ? [`${side.passed} of ${side.total}`, percent(side.rate), `${percent(side.low)} to ${percent(side.high)}`] : ["no check", "", ""];
    const cost = side.usd === null ? "price unknown" : dollars(Number(side.usd));
    for (const text of [names[n], ...rate, `${count(side.usage.input)}, ${count(side.usage.output)}`, cost]) row.append(make("td", "", text));
    body.append(row);
  });
  const top = make("thead");
  top.append(head);
  table.append(top, body);
  made.push(table);
  for (const one of told.cases) {
    const shown = make("details", "twin"), both = make("div", "answers");
    shown.append(make("summary", "", one.message), both);
    one.sides.forEach((side, n) => {
      const column = make("div");
      column.append(make("h3", "", names[n]));
      for (const answer of side.answers) {
        column.append(make("div", "words", answer.text || "It said nothing."));
        for (const fault of [...answer.faults, answer.failure].filter(Boolean)) column.append(make("p", "problem", fault));
      }
      both.append(column);
    });
    made.push(shown);
  }
  return made;
}

function verdict(told) {
  if (!told.difference) return "Nothing was checked: the answers and their cost stand side by side.";
  const points = Math.round(100 * (told.sides[1].rate - told.sides[0].rate));
  const [low, high] = told.difference.map((one) => Math.round(100 * one));
  const often = points ? `${Math.abs(points)} points ${points > 0 ? "more" : "less"} often` : "as often";
  const words = `With your text answers pass ${often} (95 %: ${low} to ${high} points)`;
  return told.winner ? `${words}.` : `${words}: chance alone may explain it.`;
}

customElements.define("mentis-what-if", MentisWhatIf);
