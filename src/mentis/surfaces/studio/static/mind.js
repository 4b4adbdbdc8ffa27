// <mentis-mind>: sends its forms to the API as JSON, each with the state of the resource as it was when
// the form was shown, and then shows the page as it is. Texts of a home are set as text, never as markup.
function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function button(text, act) {
  const made = make("button", "", text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

async function problemOf(response) {
  const told = await response.json().catch(() => ({}));
  return new Error([told.detail || told.title || response.statusText, told.hint].filter(Boolean).join(". "));
}

async function tagOf(path) {
  try {
    const response = await fetch(path);
    await response.arrayBuffer();
    return response.headers.get("etag");
  } catch { return null; }
}

class MentisMind extends HTMLElement {
  connectedCallback() {
    this.addEventListener("submit", (event) => {
      const form = event.target.closest("form[data-call]");
      if (!form) return;
      event.preventDefault();
      this.send(form);
    });
    this.addEventListener("input", (event) => { if ("guard" in event.target.dataset) this.unsaved = true; });
    // A form in a fold is shown when that is opened.
    this.addEventListener("toggle", (event) => { if (event.target.open) this.know(event.target); }, true);
    addEventListener("beforeunload", (event) => { if (this.unsaved) event.preventDefault(); });
    this.know(this);
  }

  know(place) {
    const tags = new Map();
    for (const form of place.querySelectorAll("form[data-tag]")) {
      const path = form.dataset.tag;
      if (form.closest("details:not([open])") || !path) continue;
      if (!tags.has(path)) tags.set(path, tagOf(path));
      form.known = tags.get(path);
      form.known.then(() => { form.dataset.ready = ""; });
    }
  }

  bodyOf(form) {
    const body = {};
    for (const field of form.elements) {
      if (!field.name || "inPath" in field.dataset) continue;
      if (field.type === "checkbox") body[field.name] = field.checked;
      else body[field.name] = "number" in field.dataset ? Number(field.value) : field.value;
    }
    return form.dataset.inside ? {[form.dataset.inside]: body} : body;
  }

  pathOf(form) {
    const named = form.querySelector("[data-in-path]");
    return named ? form.dataset.path.replace("{name}", encodeURIComponent(named.value.trim())) : form.dataset.path;
  }

  async send(form, tag) {
    const {call, confirm: question} = form.dataset;
    if (question && !tag && !form.sure) return this.ask(form, question);
    form.sure = false;
    for (const one of form.querySelectorAll("button")) one.disabled = true;
    form.querySelector("[data-told]")?.remove();
    try {
      const known = tag || await form.known;
      if (form.dataset.tag && !known) throw new Error("How it stands could not be read from the server, so nothing was written. Reload the page.");
      const headers = {"content-type": "application/json", "if-match": known || "*"};
      const body = call === "DELETE" ? undefined : JSON.stringify(this.bodyOf(form));
      const response = await fetch(this.pathOf(form), {method: call, headers, body});
      if (response.status === 412) return await this.clash(form);
      if (!response.ok) throw await problemOf(response);
      this.unsaved = false;
      if (call === "DELETE" && location.pathname.includes("/memories/")) return location.assign(location.pathname.replace(/\/memories\/.*/, "/memories"));
      await this.refresh();
    } catch (error) {
      this.tell(form, error.message);
    } finally {
      for (const one of form.querySelectorAll("button")) one.disabled = false;
    }
  }

  tell(form, words) {
    const told = make("p", "problem", words);
    told.dataset.told = "";
    told.setAttribute("role", "alert");
    form.append(told);
    return told;
  }

  ask(form, question) {
    form.querySelector("[data-told]")?.remove();
    const place = make("p", "note", `${question} `);
    place.dataset.told = "";
    place.append(button("Yes", () => { form.sure = true; this.send(form); }), " ", button("No", () => place.remove()));
    form.append(place);
    place.querySelector("button").focus();
  }

  // Somebody else was faster: both texts are shown, and nothing was written.
  async clash(form) {
    const now = await fetch(form.dataset.tag), tag = now.headers.get("etag"), place = make("div", "clash");
    place.dataset.told = "";
    place.setAttribute("role", "alert");
    place.append(make("p", "", "It was changed meanwhile, in another tab or by the persona. Nothing was written here."));
    const field = form.elements[form.dataset.text];
    if (field && now.ok) {
      const there = await now.json(), text = (Array.isArray(there) ? there[0]?.text : there.text) ?? "";
      place.append(make("p", "hint", "As it is now:"), make("pre", "", text));
      place.append(button("Take the text as it is now", () => { field.value = text; form.known = Promise.resolve(tag); place.remove(); this.unsaved = false; }), " ");
      place.append(button("Save mine over it", () => this.send(form, tag)));
    } else place.append(button("Show it as it is now", () => this.refresh()));
    form.append(place);
  }

  async refresh() {
    const query = new URLSearchParams(location.search);
    query.set("part", "mind");
    await htmx.ajax("GET", `${location.pathname}?${query}`, {target: "#mind", swap: "innerHTML"});
    this.know(this);
  }
}

customElements.define("mentis-mind", MentisMind);
