// <mentis-cause>: asks what an answer hangs on, with the price first where it has one.
const few = 12; // pieces at first: those that share most words with the answer
const told = 6; // pieces that are shown at once
const svg = "http://www.w3.org/2000/svg";

function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function dollars(usd) {
  const amount = Number(usd);
  return `$${amount.toFixed(amount >= 1 ? 2 : Math.min(8, Math.max(2, 1 - Math.floor(Math.log10(amount)))))}`;
}

class MentisCause extends HTMLElement {
  connectedCallback() {
    const {persona, entry} = this.dataset;
    this.url = `/mentis/v1/personas/${persona}/entries/${entry}/cause`;
    this.button = this.querySelector("[data-cause]");
    this.place = this.querySelector("[data-found]");
    this.button.addEventListener("click", () => this.begin(few));
  }

  async begin(blocks) {
    this.choice = {step: Number(this.dataset.step), blocks};
    await this.trying("Looks at what can be left out", async () => {
      const plan = await this.fetched(`${this.url}?${new URLSearchParams(this.choice)}`);
      if (plan.free) return this.run(plan);
      this.offer(plan);
    });
  }

  offer(plan) {
    const price = plan.most_usd === null ? "at a price that is not known" : `for at most ${dollars(plan.most_usd)}`;
    const words = `${plan.model} tells no probabilities of an answer. It is asked ${plan.calls} times for new ones, ${price}.`;
    const sentence = plan.method === "overlap" ? words : `${plan.model} is asked ${plan.calls} times, ${price}.`;
    const yes = make("button", "primary", `Ask ${plan.calls} times`), no = make("button", "", "Not now");
    yes.type = no.type = "button";
    yes.addEventListener("click", () => this.trying("", () => this.run(plan)));
    no.addEventListener("click", () => { this.place.replaceChildren(); this.button.focus(); });
    const row = make("p", "choice");
    row.append(yes, no);
    this.place.replaceChildren(make("p", "note", sentence), row);
    yes.focus();
  }

  async run(plan) {
    this.working(`${plan.model} is asked ${plan.calls} times`);
    const body = JSON.stringify({...this.choice, confirm: !plan.free});
    this.show(await this.fetched(this.url, {method: "POST", headers: {"content-type": "application/json"}, body}));
  }

  show(found) {
    const scored = found.method === "logprob";
    const most = Math.max(...found.causes.map((one) => one.fall), 0);
    const list = make("ol", "causes"), rest = make("ol", "causes"), more = make("details");
    found.causes.forEach((one, place) => (place < told ? list : rest).append(this.row(one, most, scored)));
    more.append(make("summary", "hint", `${rest.children.length} more pieces`), rest);
    more.hidden = !rest.children.length;
    const words = scored
      ? `The log-probability of this answer is ${found.value.toFixed(2)} (${found.answer_tokens} tokens). It falls by so much when a piece is left out:`
      : `New answers share ${Math.round(found.value * 100)} % of its words, give or take ${Math.round(found.spread * 100)} %. That falls by so much when a piece is left out:`;
    const under = [`${found.model} on ${found.route}`, `${found.prefilled} tokens read, ${found.reused} reused`];
    if (Number(found.usd)) under.push(dollars(found.usd));
    this.place.replaceChildren(make("p", "", words), list, more, make("p", "hint", under.join(" · ")));
    for (const note of found.notes) this.place.append(make("p", "hint", note));
    if (!found.skipped.length) return;
    const all = make("button", "quiet", `Leave out the other ${found.skipped.length} too`);
    all.type = "button";
    all.addEventListener("click", () => this.begin(0));
    this.place.append(all);
  }

  row(one, most, scored) {
    const row = make("li"), line = make("p"), link = make("a", "", one.name);
    link.href = `#s${one.section}`;
    link.addEventListener("click", () => document.getElementById(`s${one.section}`)?.focus());
    const fall = scored ? one.fall.toFixed(2) : `${Math.round(one.fall * 100)} %`;
    line.append(link, make("span", "figure", fall.replace("-", "−")));
    row.append(line, bar(most > 0 ? Math.max(one.fall, 0) / most : 0));
    const fell = one.tokens.filter((each) => each.fall > 1).map((each) => `“${each.token.trim() || each.token}” ${each.fall.toFixed(1)}`);
    if (fell.length) row.append(make("p", "hint", fell.join(" · ")));
    return row;
  }

  async fetched(url, options) {
    const response = await fetch(url, options);
    if (response.ok) return response.json();
    const told = await response.json().catch(() => ({}));
    throw new Error([told.detail || told.title || response.statusText, told.hint].filter(Boolean).join(". "));
  }

  working(words) {
    this.place.replaceChildren(make("p", "hint working", words));
  }

  async trying(words, work) {
    this.button.disabled = true;
    if (words) this.working(words);
    try {
      await work();
    } catch (error) {
      const told = make("p", "problem", error.message);
      told.setAttribute("role", "alert");
      this.place.replaceChildren(told);
    }
    this.button.disabled = false;
  }
}

function bar(share) {
  const made = document.createElementNS(svg, "svg"), whole = document.createElementNS(svg, "rect");
  made.setAttribute("viewBox", "0 0 100 4");
  made.setAttribute("preserveAspectRatio", "none");
  made.setAttribute("aria-hidden", "true");
  const part = whole.cloneNode();
  for (const [each, width] of [[whole, 100], [part, Math.round(share * 1000) / 10]]) {
    each.setAttribute("width", width);
    each.setAttribute("height", 4);
    made.append(each);
  }
  part.setAttribute("class", "fall");
  return made;
}

customElements.define("mentis-cause", MentisCause);
