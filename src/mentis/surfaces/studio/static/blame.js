// <mentis-blame>: says why a run of the request is there, for whoever points at it or moves to it.
const words = {
  name: "Block", reason: "In because", source: "Written by", trust: "Trust", stability: "Unchanged",
  placeholder: "Fills in", variant: "Wording", score: "Score", screening: "Verdict", pointer: "Place",
};
const meaning = {stable: "from talk to talk", session: "in one conversation", turn: "in one turn"};

class MentisBlame extends HTMLElement {
  connectedCallback() {
    this.panel = this.querySelector("[data-why]");
    this.addEventListener("mouseover", (event) => this.look(event.target));
    this.addEventListener("focusin", (event) => this.look(event.target));
    this.empty = this.panel.firstElementChild;
    this.history = this.querySelector("[data-history]");
    this.addEventListener("click", (event) => this.clicked(event));
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  clicked(event) {
    const copy = event.target.closest("[data-copy]");
    if (copy) { event.preventDefault(); this.copy(copy.href); return; }
    if (event.target.closest("[data-let-go]")) { this.letGo(); return; }
    const section = event.target.closest(".section");
    if (!section || event.target.closest("button")) return;
    if (this.pinned && this.pinned === (event.target.closest(".run") || section)) { this.letGo(); return; }
    this.look(event.target, true);
    this.showHistory(section);
  }

  letGo() {
    this.panel.replaceChildren(this.empty);
    this.pinned = this.asked = null;
    this.history.replaceChildren();
  }

  async copy(address) {
    const told = this.querySelector("[data-copied]");
    try {
      const response = await fetch(address);
      if (!response.ok) throw new Error("the command cannot be made");
      await navigator.clipboard.writeText(await response.text());
      told.textContent = "Copied. The key is a variable in it.";
    } catch {
      location.assign(address);  // where nothing can be copied for you, it can be read
    }
  }

  // What became of the block since: as the server has it.
  async showHistory(section) {
    if (!this.history || this.asked === section) return;
    this.asked = section;
    this.history.replaceChildren();
    if (section.dataset.block) await htmx.ajax("GET", `${section.dataset.block}&part=history`, {target: "[data-history]", swap: "innerHTML"});
  }

  look(target, pins = false) {
    const run = target.closest?.(".run"), section = target.closest?.(".section");
    if (!section || (this.pinned && !pins)) return;
    if (pins) this.pinned = run || section;
    this.shown?.classList.remove("shown");
    this.shown = run || section;
    this.shown.classList.add("shown");
    const told = {...section.dataset, ...(run ? filled(run.dataset) : {})};
    told.stability = meaning[told.stability] || told.stability;
    const list = document.createElement("dl");
    for (const [key, label] of Object.entries(words)) {
      if (!told[key]) continue;
      const term = document.createElement("dt"), value = document.createElement("dd");
      term.textContent = label;
      value.textContent = key === "placeholder" ? `{{${told[key]}}}` : told[key];
      list.append(term, value);
    }
    this.panel.replaceChildren(list, closing(this.pinned));
  }

  pressed(event) {
    if (event.target.closest("input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const sections = [...this.querySelectorAll(".section")];
    const here = sections.indexOf(document.activeElement.closest?.(".section"));
    if (event.key === "j" || event.key === "k") {
      this.letGo();
      sections[Math.max(0, Math.min(here + (event.key === "j" ? 1 : -1), sections.length - 1))]?.focus();
    }
    else if (event.key === "Escape") this.letGo();
    else if (event.key === "Enter" && here >= 0 && document.activeElement === sections[here]) {
      this.look(sections[here], true);
      this.showHistory(sections[here]);
    }
    else if (here >= 0 && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      const runs = [...sections[here].querySelectorAll(".run")];
      const next = runs[runs.indexOf(this.shown) + (event.key === "ArrowRight" ? 1 : -1)];
      if (next) { this.letGo(); this.look(next); next.scrollIntoView({block: "nearest"}); }
    } else return;
    if (event.key.startsWith("Arrow")) event.preventDefault();
  }
}

function closing(pinned) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = pinned ? "quiet" : "quiet only-sheet";
  button.dataset.letGo = "";
  button.textContent = "Close";
  return button;
}

function filled(data) {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value));
}

customElements.define("mentis-blame", MentisBlame);

// <mentis-turns>: a list that grows while programs run and personas talk.
class MentisTurns extends HTMLElement {
  connectedCallback() {
    if (!("live" in this.dataset)) return;
    this.watch = () => {
      this.news?.close();
      if (document.hidden) return;
      this.news = new EventSource("/mentis/v1/events");
      this.news.addEventListener("entry", (event) => {
        const {kind} = JSON.parse(event.data);
        if (kind !== "call" && kind !== "turn") return;
        clearTimeout(this.soon);
        this.soon = setTimeout(() => this.refresh(), 300);
      });
    };
    this.seen = () => {
      this.watch();
      if (!document.hidden) this.news.addEventListener("open", () => this.refresh(), {once: true});
    };
    document.addEventListener("visibilitychange", this.seen);
    this.watch();
  }

  disconnectedCallback() {
    this.news?.close();
    document.removeEventListener("visibilitychange", this.seen);
  }

  refresh() {
    if (this.querySelector("#turns").contains(document.activeElement)) return;  // somebody reads there
    htmx.ajax("GET", `${location.pathname}?part=turns`, {target: "#turns", swap: "innerHTML"});
  }
}

customElements.define("mentis-turns", MentisTurns);
