// <mentis-decisions>: says yes or no to what waits, over the API, and shows the page as it is then.
function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

async function problemOf(response) {
  const told = await response.json().catch(() => ({}));
  if (response.status === 412) return new Error("It was decided meanwhile, in another tab or by somebody else. Nothing was done here.");
  return new Error([told.detail || told.title || response.statusText, told.hint].filter(Boolean).join(". "));
}

class MentisDecisions extends HTMLElement {
  connectedCallback() {
    this.addEventListener("click", (event) => {
      const button = event.target.closest("[data-decide]");
      if (button) this.decide(button.closest(".waiting"), button.dataset.decide);
    });
    for (const place of this.querySelectorAll(".waiting")) this.remember(place);
  }

  // The act as it stands when the page is shown: a yes is to this, and to nothing that came later.
  remember(place) {
    place.known = fetch(this.path(place)).then(async (response) => { await response.arrayBuffer(); return response.headers.get("etag"); });
    place.known.catch(() => {});
  }

  path(place) { return `/mentis/v1/personas/${place.dataset.persona}/acts/${encodeURIComponent(place.dataset.key)}`; }

  async decide(place, kind) {
    const buttons = place.querySelectorAll("button"), words = place.querySelector("[data-words]").value.trim();
    for (const one of buttons) one.disabled = true;
    place.querySelector("[data-told]")?.remove();
    const told = make("p", "hint working", kind === "approve" ? "It is being done" : "It is told so");
    told.dataset.told = "";
    told.setAttribute("role", "status");
    place.append(told);
    try {
      const known = await place.known;
      if (!known) throw new Error("What waits could not be read from the server, so nothing was decided.");
      const response = await fetch(`${this.path(place)}/${kind}`, {
        method: "POST",
        headers: {"content-type": "application/json", "if-match": known},
        body: JSON.stringify({words, resume: true}),
      });
      if (!response.ok) throw await problemOf(response);
      await this.refresh();
    } catch (error) {
      told.className = "problem";
      told.setAttribute("role", "alert");
      told.textContent = `${error.message} `;
      const again = make("button", "", "Show it as it is now");
      again.type = "button";
      again.addEventListener("click", () => this.refresh());
      told.append(again);
    }
  }

  async refresh() {
    const query = new URLSearchParams(location.search);
    query.set("part", "done");
    await htmx.ajax("GET", `${location.pathname}?${query}`, {target: "#done", swap: "innerHTML"});
    for (const place of this.querySelectorAll(".waiting")) this.remember(place);
    this.querySelector("h2")?.scrollIntoView({block: "nearest"});
    document.dispatchEvent(new Event("mentis-acts"));
  }
}

customElements.define("mentis-decisions", MentisDecisions);
