// <mentis-audit>: sends an export to the verifier and tells the verdict. <mentis-checkpoint> signs one.
// Everything of a file is set as text, never as markup.
function make(name, className, ...inside) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...inside);
  return made;
}

async function problemOf(response) {
  const told = await response.json().catch(() => ({}));
  return new Error([told.detail || told.title || response.statusText, told.hint].filter(Boolean).join(". "));
}

const words = {
  ok: ["✓", "This export holds.", "Every entry has its hash and its predecessor, and the key of the log has signed it."],
  BROKEN: ["✕", "This export was changed.", "The entries that do not hold are named here."],
  UNSIGNED: ["✕", "Nobody vouches for this export.", "No checkpoint in it was signed by the key of the log that you named. Anybody could have written it."],
  UNPINNED: ["▯", "It holds in itself, and nobody says whose it is.", "Name the log and its key, as you know them from elsewhere."],
};

class MentisAudit extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("[data-audit]");
    this.result = this.querySelector("[data-result]");
    const input = this.querySelector("[data-file]"), drop = this.querySelector("[data-drop]");
    this.form.addEventListener("submit", (event) => event.preventDefault());
    input.addEventListener("change", () => { if (input.files[0]) this.take(input.files[0]); input.value = ""; });
    for (const [name, on] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
      this.addEventListener(name, (event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        drop.classList.toggle("dropping", on);
        if (name === "drop" && event.dataTransfer.files[0]) this.take(event.dataTransfer.files[0]);
      });
    }
  }

  async take(file) { await this.check(new Uint8Array(await file.arrayBuffer()), file.name, ""); }

  async check(bytes, name, changed) {
    this.result.replaceChildren(make("p", "hint working", `${name} is being checked`));
    const {origin, key} = Object.fromEntries(new FormData(this.form));
    const query = origin && key ? `?${new URLSearchParams({origin, key})}` : "";
    try {
      const response = await fetch(`/mentis/v1/audit${query}`, {method: "POST", headers: {"content-type": "application/zip"}, body: bytes});
      if (!response.ok) throw await problemOf(response);
      this.show(await response.json(), bytes, name, changed);
    } catch (error) {
      this.result.replaceChildren(Object.assign(make("p", "problem", error.message), {role: "alert"}));
    }
  }

  show(told, bytes, name, changed) {
    const [mark, verdict, why] = words[told.verdict];
    const sign = make("span", "", mark);
    sign.setAttribute("aria-hidden", "true");
    const head = make("p", `verdict ${told.verdict === "ok" ? "good" : "bad"}`, make("b", "", sign, ` ${verdict}`), ` ${why}`);
    const facts = make("p", "hint", `${name} · ${told.agent} · ${told.entries.toLocaleString("en")} entries · ${told.signed ?? 0} signed`);
    const shown = [head, facts];
    if (changed) shown.unshift(make("p", "note", changed));
    if (told.findings.length) {
      const list = make("ul", "findings");
      for (const one of told.findings.slice(0, 20)) list.append(make("li", "bad-line", make("b", "", `Entry ${one.index}`), ` ${one.column}: ${one.message}`));
      const more = told.findings.length - 20 + told.more;
      if (more > 0) list.append(make("li", "", `And ${more} more.`));
      shown.push(list);
    }
    for (const gone of told.erased) shown.push(make("p", "hint", `Entry ${gone.index}: erased ${gone.fields.join(", ")} (${gone.reason})`));
    for (const gone of told.withheld) shown.push(make("p", "hint", `Entry ${gone.index}: ${gone.field} left out of this file (${gone.reason})`));
    for (const note of told.notes) shown.push(make("p", "hint", note));
    if (told.intact && bytes[0] === 0x50) { // a zip, not the page out of one
      const change = make("button", "", "Change one byte and check again");
      change.type = "button";
      change.addEventListener("click", () => this.damage(bytes, name));
      shown.push(make("p", "", change, " ", make("span", "hint", "In a copy here in the page: your file stays as it is.")));
    }
    this.result.replaceChildren(...shown);
  }

  // The entries are the first member of the file: from behind its heading to where the next begins.
  damage(bytes, name) {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const start = 30 + view.getUint16(26, true) + view.getUint16(28, true);
    let end = start;
    while (end < bytes.length && view.getUint32(end, true) !== 0x04034b50) end += 1;
    const place = start + Math.floor((0.1 + 0.8 * Math.random()) * (end - start));
    const copy = bytes.slice(), before = copy[place];
    copy[place] = before ^ 0x10;
    const hex = (value) => value.toString(16).padStart(2, "0");
    this.check(copy, name, `Byte ${place.toLocaleString("en")} of the copy was ${hex(before)} and is now ${hex(copy[place])}.`);
  }
}

class MentisCheckpoint extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("[data-sign]"), told = this.querySelector("[data-told]");
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        const response = await fetch(this.dataset.path, {method: "POST", headers: {"content-type": "application/json"}, body: "{}"});
        if (!response.ok) throw await problemOf(response);
        location.reload();
      } catch (error) {
        told.className = "problem";
        told.textContent = error.message;
        button.disabled = false;
      }
    });
  }
}

customElements.define("mentis-audit", MentisAudit);
customElements.define("mentis-checkpoint", MentisCheckpoint);

// A checked page is the same after a reload, and for whoever is given its address.
document.addEventListener("htmx:after:swap", (event) => {
  const check = document.querySelector("#chains a.check");
  if (event.target.closest?.("#chains") && check) history.replaceState(null, "", check.href);
});
