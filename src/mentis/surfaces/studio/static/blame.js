// <mentis-blame>: says why a run of the request is there, for whoever points at it or moves to it.
const words = {
  name: "Block", reason: "In because", source: "Written by", trust: "Trust", stability: "Unchanged",
  placeholder: "Fills in", variant: "Wording", screening: "Screening", pointer: "Place",
};
const meaning = {stable: "from talk to talk", session: "in one conversation", turn: "in one turn"};

class MentisBlame extends HTMLElement {
  connectedCallback() {
    this.panel = this.querySelector("[data-why]");
    this.addEventListener("mouseover", (event) => this.look(event.target));
    this.addEventListener("focusin", (event) => this.look(event.target));
    this.addEventListener("click", (event) => this.look(event.target, true));
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  look(target, pins = false) {
    const run = target.closest?.(".run"), section = target.closest?.(".section");
    if (!section || (this.pinned && !pins)) return;
    if (pins) this.pinned = run && this.shown === run && this.pinned ? null : run;
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
    this.panel.replaceChildren(list);
  }

  pressed(event) {
    if (event.target.closest("input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const sections = [...this.querySelectorAll(".section")];
    const here = sections.indexOf(document.activeElement.closest?.(".section"));
    if (event.key === "j") sections[Math.min(here + 1, sections.length - 1)]?.focus();
    else if (event.key === "k") sections[Math.max(here - 1, 0)]?.focus();
    else if (event.key === "Escape") this.pinned = null;
    else if (here >= 0 && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      const runs = [...sections[here].querySelectorAll(".run")];
      const next = runs[runs.indexOf(this.shown) + (event.key === "ArrowRight" ? 1 : -1)];
      if (next) { this.pinned = null; this.look(next); next.scrollIntoView({block: "nearest"}); }
    } else return;
    if (event.key.startsWith("Arrow")) event.preventDefault();
  }
}

function filled(data) {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value));
}

customElements.define("mentis-blame", MentisBlame);
