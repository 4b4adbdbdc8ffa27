// What the pages about prompts share: calls of the API, and questions. Everything that comes from a
// home is set as text, never as markup.
export const api = "/mentis/v1";
export const blocks = `${api}/prompts/blocks`;

export class Refusal extends Error {
  constructor(status, told) {
    super([told.detail || told.title || `It did not work (${status})`, told.hint].filter(Boolean).join(". "));
    this.status = status;
    this.facts = told.facts || {};
  }
}

export async function send(path, {method = "GET", body, raw, tag, headers = {}} = {}) {
  const given = {...headers};
  if (tag) given["if-match"] = tag;
  if (raw) given["content-type"] = "application/zip";
  else if (body !== undefined) given["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {method, headers: given, body: raw || (body === undefined ? undefined : JSON.stringify(body))});
  } catch {
    throw new Refusal(0, {detail: "The studio cannot be reached", hint: "What you wrote is still here: start it again, then save"});
  }
  if (!response.ok && response.status !== 304) throw new Refusal(response.status, await response.json().catch(() => ({})));
  return response;
}

// An edit of something whose state is looked up first, for what does not hang on an older look.
export async function change(path, {look = path, method = "POST", body, raw} = {}) {
  const tag = (await send(look)).headers.get("etag");
  return send(path, {method, body, raw, tag});
}

export function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

export function tell(place, words, {bad = false, acts = []} = {}) {
  if (!place) return;
  const line = make("p", bad ? "problem" : "note done", words);
  if (bad) line.setAttribute("role", "alert");
  for (const [label, act] of acts) {
    const button = make("button", "", label);
    button.type = "button";
    button.addEventListener("click", act);
    line.append(" ", button);
  }
  place.replaceChildren(line);
}

// A question in the page: resolves to the name of the answer and what was filled in, or null.
export function ask({title, words = "", fields = [], answers}) {
  return new Promise((done) => {
    const dialog = make("dialog", "ask"), form = make("form"), row = make("p", "choices");
    form.method = "dialog";
    const heading = make("h2", "", title);
    heading.id = "ask-title";
    dialog.setAttribute("aria-labelledby", "ask-title");
    form.append(heading);
    if (words) form.append(make("p", "", words));
    for (const {name, label, value = "", pattern, required = true} of fields) {
      const line = make("label", ""), input = make("input");
      line.append(make("span", "label", label), input);
      Object.assign(input, {name, value, required, autocomplete: "off", spellcheck: false});
      if (pattern) input.pattern = pattern;
      form.append(line);
    }
    for (const [name, label, kind] of answers) {
      const button = make("button", kind || "", label);
      button.value = name;
      if (name === "no") button.formNoValidate = true;
      row.append(button);
    }
    form.append(row);
    dialog.append(form);
    document.body.append(dialog);
    dialog.addEventListener("close", () => {
      const answer = dialog.returnValue;
      const filled = Object.fromEntries(new FormData(form));
      dialog.remove();
      done(answer && answer !== "no" ? {answer, ...filled} : null);
    });
    dialog.showModal();
    (form.querySelector("input") || row.lastElementChild).focus();
  });
}

export const idPattern = "[a-z0-9][a-z0-9_\\-]{0,63}";

// The same edit again, with a second yes where the server asks for one.
export async function withYes(edit) {
  const given = {};
  for (;;) {
    try {
      return await edit(given);
    } catch (error) {
      if (error.facts?.unknown && !given.unknown_placeholders) {
        const named = error.facts.unknown.map((key) => `{{${key}}}`).join(", ");
        const yes = await ask({title: "Save with unknown placeholders?", words: `${named} is not registered, and would be told as it stands.`, answers: [["no", "Go back"], ["yes", "Save all the same", "primary"]]});
        if (!yes) return null;
        given.unknown_placeholders = true;
      } else if (error.facts?.needs === "force" && !given.force) {
        const yes = await ask({title: "Change the constitution?", words: "This block stands above every other rule, or would. The history will say that you meant it.", answers: [["no", "Go back"], ["yes", "Change it", "primary"]]});
        if (!yes) return null;
        given.force = true;
      } else throw error;
    }
  }
}

// Words for the next page.
export function leave(path, words) {
  try { sessionStorage.setItem("mentis-told", words); } catch { /* then without */ }
  if (path === location.pathname + location.search) location.reload();
  else location.assign(path);
}

export function arrived() {
  try {
    const words = sessionStorage.getItem("mentis-told");
    sessionStorage.removeItem("mentis-told");
    return words;
  } catch { return null; }
}

// Replaces what is marked as made by the server with what the server says now.
export async function refresh(path = location.pathname + location.search) {
  const response = await send(path, {headers: {accept: "text/html"}});
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const old of document.querySelectorAll("[data-fresh]")) {
    const now = fresh.getElementById(old.id);
    if (now) old.replaceWith(document.adoptNode(now));
  }
  return fresh;
}

// What a change did to the prompts that a block is part of.
export function effectWords(told) {
  return (told.effects || []).slice(0, 3).map((one) => {
    const [old, now] = [one.tokens_before.tokens, one.tokens_after.tokens];
    if (one.first_byte === null) return `The prompt of ${one.persona} stays as it was${one.reason ? ` (${one.reason})` : ""}.`;
    return `The prompt of ${one.persona} goes from ~${old} to ~${now} tokens; it changes from byte ${one.first_byte} on${one.block ? `, in ${one.block}` : ""}.`;
  }).join(" ");
}
