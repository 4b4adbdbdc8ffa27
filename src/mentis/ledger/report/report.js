// Checks the page that it stands in. It derives every hash, every link, the tree, the signatures and
// all that the page shows again from the entries in the page, and compares. It shares no code with
// the program that wrote the page; what is shown is worked out as report/story.py does it.
"use strict";
(() => {
  const STYLE = "852ba4c66cadf1aafadd5532e06e2be98a3064be5d6530d6a24d095a9951503d"; // SHA-256 of the style of this page
  const VERIFIER = "f3db8180e5eba9fb5e00c07dec647bad69967a320af23eea8952291a89c0f3f5"; // that of its verifier, without the hash of this script in it
  const MOST = 500, LONG = 1200, SHORT = 400;
  const KINDS = ["erasure", "key", "rollback", "rotation", "retention"];
  const NAMES = new Map(Object.entries({
    turn: "Turn", act: "Act", call: "Recorded call", gap: "Calls not recorded",
    window: "Status window", refused_window: "Refused status window", memory: "Memory",
    state: "Goals and working memory", persona: "Persona", tool: "Tool", sense: "Sense",
    import: "Imported entry", erasure: "Erasure", key: "New signing key", rollback: "Accepted loss",
    rotation: "Entries moved to a segment", retention: "Entries expired", repair: "Repair",
    clock: "Clock",
  }));
  const STAGES = new Map(Object.entries({
    intent: "begun", waiting: "waits for approval", approved: "approved", denied: "denied",
    expired: "expired unanswered", released: "result released",
  }));
  const SUPPORT = new Map(Object.entries({
    match: "borne out", unsupported: "NOT borne out", unverifiable: "cannot be checked",
  }));

  const PLACES = new Map(Object.entries({
    acted: "What followed", acts: "Outcomes of acts", answer: "Words of the answer", asked: "Message", blob: "Whole result",
    drafts: "Drafts of acts", instruction: "Instruction to itself", message: "Words of the message",
    payload: "Prompt as it was sent", reply: "Raw reply", request: "Prompt before it was sent", senses: "Senses",
    state: "Goals and working memory",
  }));
  const BODIES = new Map(Object.entries({
    request: "Call as it was sent", answer: "Answer to the call", original: "Call before it was repaired",
  }));

  // ---- the page, by ways that nothing in it can stand before: a form may bear the name of any of them

  const getter = (name) => () => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  const root = getter("documentElement"), head = getter("head"), body = getter("body"), pageTitle = getter("title");
  const find = (id) => Document.prototype.getElementById.call(document, id);
  const create = (tag) => Document.prototype.createElement.call(document, tag);
  const SELF = getter("currentScript")().textContent;

  // ---- bytes, hashes, signatures

  const encoder = new TextEncoder();
  const utf8 = (text) => encoder.encode(text);
  const hex = (bytes) => Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
  const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const sha256hex = async (bytes) => hex(await sha256(bytes));
  const joined = (...parts) => {
    const whole = new Uint8Array(parts.reduce((sum, one) => sum + one.length, 0));
    let place = 0;
    for (const one of parts) { whole.set(one, place); place += one.length; }
    return whole;
  };
  const unhex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
  const unbase64 = (text) => {
    if (typeof text !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4) return null;
    return Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  };
  const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
  const same = (one, other) => one.length === other.length && one.every((byte, n) => byte === other[n]);
  const isHash = (text) => typeof text === "string" && /^[0-9a-f]{64}$/.test(text);
  const object = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});
  const list = (value) => (Array.isArray(value) ? value : []);
  const own = (value, name) => (Object.hasOwn(value, name) ? value[name] : undefined);

  // RFC 8785
  const jcs = (value) => {
    if (Array.isArray(value)) return `[${value.map(jcs).join(",")}]`;
    if (value !== null && typeof value === "object") {
      const names = Object.keys(value).sort();
      return `{${names.map((name) => `${JSON.stringify(name)}:${jcs(value[name])}`).join(",")}}`;
    }
    return JSON.stringify(value);
  };
  const derived = async (prefix, value) => sha256hex(joined(prefix, utf8(jcs(value))));

  let signatures = true; // whether this browser can check them
  const findSignatures = async () => {
    try {
      await crypto.subtle.importKey("raw", new Uint8Array(32), "Ed25519", true, ["verify"]);
    } catch { signatures = false; }
  };
  const verified = async (key, message, signature) => {
    if (!signatures) return true; // not checked, and the page says so
    try {
      const known = await crypto.subtle.importKey("raw", key, "Ed25519", true, ["verify"]);
      return await crypto.subtle.verify("Ed25519", known, signature, message);
    } catch { return false; }
  };

  // ---- what the page holds

  class Changed extends Error {}
  const PACKED = { "%25": "%", "%3C": "<", "%0D": "\r", "%00": "\0" };
  const unpack = (text) => text.replace(/%(..)?/gs, (found) => {
    if (!Object.hasOwn(PACKED, found)) throw new Changed(found);
    return PACKED[found];
  });

  // Lines of a member. Each begins with a part of its SHA-256, so that any changed byte is found.
  const readLines = async (name, changed) => {
    const block = find(name);
    if (block === null) return null;
    const raw = block.textContent.split("\n");
    if (raw.shift() !== "" || raw.pop() !== "") changed(raw.length);
    return Promise.all(raw.map(async (line, number) => {
      let text = "";
      try { text = unpack(line.slice(33)); } catch { changed(number); return ""; }
      const mark = (await sha256hex(utf8(text))).slice(0, 32);
      if (mark !== line.slice(0, 32) || line[32] !== " ") changed(number);
      return text;
    }));
  };

  const parse = (text) => { try { return object(JSON.parse(text)); } catch { return null; } };

  // ---- the verdict, as the auditor comes to it

  class Audit {
    constructor(about) {
      this.agent = about.agent;
      this.origin = `${about.origin}/${about.agent}`;
      this.findings = [];
      this.size = 0; this.head = null; this.time = ""; this.dropped = 0;
      this.peaks = []; this.roots = new Map(); this.wanted = new Set();
      this.gone = new Map(); this.erasedFields = new Map(); this.signed = [];
      this.withheld = []; this.deliveries = new Set(); this.importHead = null;
      this.moved = new Set(); this.letGo = []; this.sealed = null;
      this.fitting = 0; this.leftOut = 0;
    }

    find(index, column) { this.findings.push({ index, column }); }

    async notes(text) {
      const notes = [];
      let lines = [];
      const end = () => { if (lines.length) notes.push(lines.join("\n") + "\n"); lines = []; };
      for (const line of text) {
        if (lines.length && lines.at(-1).startsWith("— ") && !line.startsWith("— ")) end();
        if (line || lines.length) lines.push(line);
      }
      end();
      this.checkpoints = [];
      for (const note of notes) {
        const read = readNote(note);
        if (read === null) this.find(0, "checkpoint"); else { this.checkpoints.push(read); this.wanted.add(read.size); }
      }
    }

    async skip(hashes) {
      for (const one of hashes) { this.head = one; await this.grow(unhex(one)); }
      this.dropped = this.size;
      this.roots.set(this.size, await this.root());
    }

    async grow(hash) {
      let node = await sha256(joined(Uint8Array.of(0), hash)), size = this.size;
      while (size & 1) { node = await sha256(joined(Uint8Array.of(1), this.peaks.pop(), node)); size = Math.floor(size / 2); }
      this.peaks.push(node);
      this.size += 1;
      if (this.wanted.has(this.size)) this.roots.set(this.size, await this.root());
    }

    async root() {
      if (!this.peaks.length) return sha256(new Uint8Array());
      let root = this.peaks.at(-1);
      for (const peak of this.peaks.slice(0, -1).reverse()) root = await sha256(joined(Uint8Array.of(1), peak, root));
      return root;
    }

    // What of an entry derives to what it says; nothing here depends on the entries around it.
    async inside(entry) {
      const names = ["agent", "index", "time", "source", "kind", "ruleset", "prev", "fields"];
      const header = { v: entry.recipe, ...Object.fromEntries(names.map((name) => [name, entry[name]])) };
      const hash = derived(utf8("mentis-1/entry\0"), header);
      const all = new Set([...Object.keys(entry.fields), ...Object.keys(entry.body), ...Object.keys(entry.salts)]);
      const fields = await Promise.all([...all].sort(byCodePoint).map(async (name) => {
        const committed = own(entry.fields, name), value = own(entry.body, name), salt = own(entry.salts, name);
        if (committed !== undefined && value === undefined && salt === undefined) return [name, "gone"];
        if (committed === undefined || value === undefined || salt === undefined) return [name, "body"];
        if (!/^[0-9a-f]{32}$/.test(salt)) return [name, "salts"];
        const prefix = joined(utf8("mentis-1/field\0"), unhex(salt));
        return [name, (await derived(prefix, [name, value])) === committed ? "" : "body"];
      }));
      return { hash: await hash, fields };
    }

    async take(entry, made, texts) {
      const index = entry.index;
      if (index !== this.size) this.find(this.size, "index");
      if (entry.agent !== this.agent) this.find(index, "agent");
      if (entry.prev !== this.head) this.find(index, "prev");
      if (entry.time < this.time) this.find(index, "time");
      const hidden = new Set(list(texts).filter((one) => !("digest" in one)).map((one) => one.place.slice(1)));
      await this.checkInside(entry, made, hidden);
      if (texts !== null) await this.checkTexts(entry, texts);
      this.head = entry.hash; this.time = entry.time;
      await this.grow(isHash(entry.hash) ? unhex(entry.hash) : new Uint8Array(32));
    }

    async checkInside(entry, made, hidden) {
      const index = entry.index, before = this.findings.length;
      if (entry.recipe !== "mentis-1") { this.find(index, "recipe"); return; }
      if (made.hash !== entry.hash) this.find(index, "hash");
      for (const [name, fault] of made.fields) {
        if (fault === "gone") this.lacks(entry, name, hidden);
        else if (fault) this.find(index, fault);
      }
      for (const _ of hidden) this.find(index, "texts");
      if (entry.delivery !== (own(entry.body, "delivery") ?? null)) this.find(index, "delivery");
      if (entry.delivery !== null) {
        if (this.deliveries.has(entry.delivery)) this.find(index, "delivery");
        this.deliveries.add(entry.delivery);
      }
      if (KINDS.includes(entry.kind)) {
        const prev = isHash(entry.prev) ? entry.prev : null;
        this.signed.push({ kind: entry.kind, index, told: own(entry.body, "signed") ?? null, prev, sound: this.findings.length === before });
      }
      if (entry.kind === "import") await this.checkImport(entry);
    }

    lacks(entry, name, hidden) {
      const erased = this.erasedFields.get(entry.index) || new Set();
      this.erasedFields.set(entry.index, erased.add(name));
      if (hidden.has(name) && !(name === "signed" && KINDS.includes(entry.kind))) {
        hidden.delete(name);
        this.withheld.push({ index: entry.index, field: name });
        return;
      }
      const gone = this.gone.get(entry.index) || { hash: entry.hash, names: new Set() };
      gone.names.add(name);
      this.gone.set(entry.index, gone);
    }

    async checkTexts(entry, texts) {
      const places = new Map(textPlaces(entry.body));
      for (const one of texts) {
        if (!("digest" in one)) continue;
        const bound = places.get(one.place);
        places.delete(one.place);
        if (bound !== one.digest) { this.find(entry.index, "texts"); continue; }
        if ("left_out" in one) { this.leftOut += 1; continue; }
        const content = "text" in one ? utf8(one.text) : unbase64(one.base64);
        if (content === null || `sha256:${await sha256hex(content)}` !== one.digest) this.find(entry.index, "texts");
        else this.fitting += 1;
      }
      if (this.whole) for (const _ of places) this.find(entry.index, "texts");
    }

    async checkImport(entry) {
      const link = own(entry.body, "link"), original = own(entry.body, "original"), before = this.importHead;
      this.importHead = null;
      if (link === null || typeof link !== "object" || Array.isArray(link)) return;
      this.importHead = typeof link.hash === "string" ? link.hash : null;
      if (link.recipe === "s2-legacy" && link.verified === false) return;
      if (link.recipe !== "s2-v4") { this.find(entry.index, "original"); return; }
      if (before !== null && !link.begins && (link.prev ?? null) !== before) this.find(entry.index, "original");
      if (original && typeof original === "object" && !Array.isArray(original) && !(await imported(link, original))) this.find(entry.index, "original");
    }

    // ---- once everything was read

    async finish(pinned) {
      this.keys = await this.readKeys(pinned);
      await this.statements();
      this.setApart = await this.apart();
      await this.seals();
      this.missing();
      for (const [index, { names }] of this.gone) for (const _ of names) this.find(index, "body");
      this.findings.sort((a, b) => Number(isWhole(a)) - Number(isWhole(b)) || a.index - b.index);
    }

    async readKeys(pinned) {
      const changes = [];
      for (const one of this.signed) {
        const says = statement(one.told), here = this.isOf(one.told, one.kind) && (says.after ?? null) === one.prev;
        if (one.sound && one.kind === "key") changes.push([one.index, one.told, here, false]);
        else if (one.sound && one.kind === "rollback" && list(says.keys).length) {
          const carried = list(says.keys), bound = here && (await isSigned(one.told, publicKey(carried.at(-1), "new")));
          for (const change of carried) changes.push([one.index, change, bound && this.isOf(change, "key"), true]);
        }
      }
      if (!changes.length) return { indexes: [], keys: [pinned], trusted: new Set([0]), carried: new Set() };
      const keys = [publicKey(changes[0][1], "old")], sound = [];
      for (const [index, told, bound] of changes) {
        const next = publicKey(told, "new");
        const both = (await isSigned(told, keys.at(-1))) && (await isSigned(told, next));
        sound.push(bound && both && same(publicKey(told, "old"), keys.at(-1)));
        keys.push(next);
        if (!sound.at(-1)) this.find(index, "body");
      }
      const trusted = new Set(), at = keys.findIndex((key) => same(key, pinned));
      if (at >= 0) {
        let low = at, high = at;
        while (high < sound.length && sound[high]) high += 1;
        while (low && sound[low - 1]) low -= 1;
        for (let place = low; place <= high; place += 1) trusted.add(place);
      }
      return { indexes: changes.map((one) => one[0]), keys, trusted, carried: new Set(changes.filter((one) => one[3]).map((one) => one[0])) };
    }

    placeOf(size) { return this.keys.indexes.filter((index) => index < size).length; }
    inForce(index) {
      const place = this.placeOf(index + (this.keys.carried.has(index) ? 1 : 0));
      return this.keys.trusted.has(place) ? this.keys.keys[place] : null;
    }
    known() { return [...this.keys.trusted].sort((a, b) => a - b).map((place) => this.keys.keys[place]); }
    isOf(told, what) { const says = statement(told); return says.what === what && says.agent === this.agent; }

    async statements() {
      this.erased = []; this.givenUp = new Set();
      for (const one of this.signed) {
        if (one.kind === "key") continue;
        const key = this.inForce(one.index), says = statement(one.told);
        if (key === null || !(await isSigned(one.told, key)) || !this.isOf(one.told, one.kind)) this.find(one.index, "body");
        else if (one.kind === "erasure") this.explain(one.index, says);
        else if (one.kind === "rollback" && (says.after ?? null) !== one.prev) this.find(one.index, "body");
        else if (one.kind === "rollback") {
          for (const lost of list(says.lost).map(object)) if (Number.isInteger(lost.size) && typeof lost.root === "string") this.givenUp.add(`${lost.size} ${lost.root}`);
        } else this.cutAway(one.index, one.kind, says);
      }
    }

    explain(tombstone, says) {
      const named = list(says.fields);
      if (!Number.isInteger(says.index) || !named.length || !named.every((name) => typeof name === "string")) { this.find(tombstone, "body"); return; }
      const gone = this.gone.get(says.index);
      if (gone && gone.hash === says.hash) for (const name of named) gone.names.delete(name);
      const erased = this.erasedFields.get(says.index) || new Set();
      if (says.index >= this.dropped) for (const name of new Set(named)) if (!erased.has(name)) this.find(says.index, "body");
      this.erased.push({ index: says.index, fields: named, reason: typeof says.reason === "string" ? says.reason : "" });
    }

    cutAway(index, kind, says) {
      const all = kind === "rotation" ? [says] : list(says.segments).length ? list(says.segments) : [{}];
      for (const told of all.map(object)) {
        const good = Number.isInteger(told.first) && Number.isInteger(told.last) && told.first >= 0 && told.first <= told.last && typeof told.root === "string";
        const [first, end, root] = good ? [told.first, told.last + 1, told.root] : [0, 0, ""];
        if (!good || end > index) this.find(index, "body");
        else if (this.roots.has(end) && hex(this.roots.get(end)) !== root) this.find(first, "hash");
        else if (kind === "rotation") this.moved.add(`${end} ${root}`);
        else if (end >= this.dropped && !this.moved.has(`${end} ${root}`)) this.find(index, "body");
        else this.letGo.push([first, end, root]);
      }
    }

    missing() {
      if (!this.dropped) return;
      let reach = 0;
      for (const [first, end] of [...this.letGo].sort((a, b) => a[0] - b[0] || a[1] - b[1])) if (first <= reach) reach = Math.max(reach, end);
      const wanted = hex(this.roots.get(this.dropped));
      if (reach < this.dropped || !this.letGo.some(([, end, root]) => end === this.dropped && root === wanted)) this.find(0, "index");
    }

    async seen(size) { return size === 0 ? sha256(new Uint8Array()) : this.roots.get(size); }

    // Notes whose key is known only from entries that were let go say nothing here.
    async apart() {
      const ids = new Set();
      for (const key of this.known()) ids.add(hex(await keyId(this.origin, key)));
      const rest = [];
      for (const note of this.checkpoints) {
        const named = note.signatures.some(([name, raw]) => name === note.origin && ids.has(hex(raw.slice(0, 4))));
        const seen = await this.seen(note.size);
        const right = note.size <= this.dropped && seen !== undefined && same(seen, note.root);
        if (note.origin !== this.origin || named || !right) rest.push(note);
      }
      this.checkpoints = rest;
    }

    async seals() {
      const all = this.keys.keys, known = [...this.keys.trusted];
      for (const note of this.checkpoints) {
        const signed = [];
        for (const place of known) if (await noteSigned(note, all[place])) signed.push(place);
        const seen = await this.seen(note.size);
        const lost = signed.length > 0 && this.givenUp.has(`${note.size} ${hex(note.root)}`);
        const may = signed.some((place) => place >= this.placeOf(note.size));
        if (note.origin !== this.origin) this.find(0, "checkpoint");
        else if (!lost && !may) this.find(0, "checkpoint");
        else if (seen !== undefined && same(seen, note.root)) { if (note.size || !this.size) this.sealed = Math.max(this.sealed ?? 0, note.size); }
        else if (lost) continue;
        else this.find(note.size > this.size ? this.size : 0, "checkpoint");
      }
    }
  }

  const isWhole = (found) => found.index === 0 && found.column === "checkpoint";
  const byCodePoint = (one, other) => {
    const a = [...one], b = [...other];
    for (let n = 0; n < Math.min(a.length, b.length); n += 1) if (a[n] !== b[n]) return a[n].codePointAt(0) - b[n].codePointAt(0);
    return a.length - b.length;
  };
  const statement = (told) => object(object(told).statement);
  const publicKey = (told, name) => unbase64(statement(told)[name]) || new Uint8Array();
  const isSigned = async (told, key) => {
    const says = statement(told);
    if (!Object.keys(says).length) return false;
    const signature = unbase64(own(object(object(told).signatures), base64(key)));
    return signature !== null && verified(key, joined(utf8("mentis-1/statement\0"), utf8(jcs(says))), signature);
  };
  const keyId = async (origin, key) => (await sha256(joined(utf8(`${origin}\n\u0001`), key))).slice(0, 4);
  const noteSigned = async (note, key) => {
    const id = await keyId(note.origin, key);
    for (const [name, raw] of note.signatures) {
      if (name === note.origin && same(raw.slice(0, 4), id) && (await verified(key, utf8(note.text), raw.slice(4)))) return true;
    }
    return false;
  };
  const readNote = (note) => {
    const gap = note.lastIndexOf("\n\n");
    if (gap < 0 || !note.endsWith("\n")) return null;
    const text = note.slice(0, gap), lines = text.split("\n");
    if (lines.length < 3 || !/^(0|[1-9][0-9]{0,15})$/.test(lines[1])) return null;
    const root = unbase64(lines[2]);
    if (root === null || root.length !== 32) return null;
    const read = note.slice(gap + 2, -1).split("\n").map((line) => /^— (\S+) (\S+)$/.exec(line));
    const signatures = read.map((found) => (found ? [found[1], unbase64(found[2])] : null));
    if (signatures.some((one) => one === null || one[1] === null || one[1].length < 5)) return null;
    return { origin: lines[0], size: Number(lines[1]), root, text: `${text}\n`, signatures };
  };
  const imported = async (link, original) => {
    const text = String(original.text), hashed = `${text}|${link.timestamp}|${original.salt}`;
    const window = parse(text);
    if (window === null || (await sha256hex(utf8(hashed))) !== link.hash) return false;
    return (window.prev_window_hash ?? null) === (link.prev ?? null);
  };
  const textPlaces = (body) => {
    const digests = object(body.digests);
    const found = [["/asked", body.asked]];
    list(body.acted).forEach((one, n) => found.push([`/acted/${n}`, one]));
    for (const name of Object.keys(digests).sort(byCodePoint)) if (name !== "library") found.push([`/digests/${name}`, digests[name]]);
    list(body.steps).map(object).forEach((step, n) => {
      for (const name of ["acts", "payload", "reply", "request"]) found.push([`/steps/${n}/${name}`, step[name]]);
    });
    found.push(["/result/blob", object(body.result).blob]);
    for (const name of ["request", "answer", "original"]) found.push([`/${name}/digest`, object(body[name]).digest]);
    return found.filter(([, value]) => typeof value === "string" && value.startsWith("sha256:"));
  };

  // ---- what is shown, as report/story.py puts it

  const node = (tag, attributes, ...children) => ({ tag, attributes, children: children.flat(Infinity).filter((one) => one !== "") });
  const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;
  const seen = (text) => text.replace(UNSEEN, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`);
  const shown = (value) => (typeof value === "string" ? seen(value) : "");
  const length = (text) => { let count = 0; for (const _ of text) count += 1; return count; };
  const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  const quantity = (number, one, more) => `${count(number)} ${number === 1 ? one : more}`;
  const cut = (text, most) => {
    if (text.length <= most) return text;
    const all = length(text);
    return all <= most ? text : `${[...text.slice(0, 2 * most)].slice(0, most).join("")} … (${count(all)} characters in all)`;
  };
  const moment = (time) => {
    const text = shown(time);
    return /^[0-9]{4}-[0-9]{2}-[0-9]{2}T.*Z$/.test(text) ? `${text.slice(0, 10)} ${text.slice(11, 19)} UTC` : text;
  };
  const table = (heads, rows, name) => node("div", { class: "scroller", role: "region", tabindex: "0", "aria-label": name },
    node("table", {}, node("thead", {}, node("tr", {}, heads.map((one) => node("th", { scope: "col" }, one)))), node("tbody", {}, rows)));
  const row = (index, ...cells) => node("tr", { "data-entry": String(index) }, node("td", { class: "entry" }, String(index)),
    cells.map((one) => (typeof one === "string" ? node("td", {}, one) : one)));
  const absence = (index, what, why) => row(index, cut(shown(what), SHORT), cut(shown(why), SHORT));
  const section = (id, title, lead, ...parts) => node("section", { id }, node("h2", {}, title), lead ? node("p", { class: "lead" }, lead) : "", parts);
  const quoted = (who, text, most) => node("blockquote", {}, node("b", {}, who), node("span", {}, cut(shown(text), most)));
  const after = (words, value) => (shown(value) ? words + shown(value) : "");
  const listing = (rows, heads, name, nouns) => {
    if (!rows.length) return [node("p", { class: "none" }, `No ${nouns}.`)];
    const kept = rows.slice(-MOST), more = rows.length - kept.length;
    const told = `These are the last ${count(MOST)} of ${count(rows.length)} ${nouns}. The ${count(more)} before them are in this file and are checked like these, but are not shown.`;
    return [...(more > 0 ? [node("p", { class: "more" }, told)] : []), table(heads, kept, name)];
  };

  class Story {
    constructor(total) {
      this.total = total; this.entries = 0; this.first = ""; this.last = "";
      this.counts = new Map(); this.timeline = []; this.approvals = []; this.claims = [];
      this.redacted = []; this.absences = new Map(); this.waiting = new Map();
    }

    add(name) { this.counts.set(name, (this.counts.get(name) || 0) + 1); }
    told(name) { return this.counts.get(name) || 0; }

    take(entry, texts) {
      this.entries += 1;
      this.first = this.first || entry.time;
      this.last = entry.time;
      const body = entry.body, act = object(body.act), decided = object(body.decided);
      const settled = ["approved", "denied", "expired", "released"].includes(act.stage);
      if (entry.kind === "turn") this.add(Object.hasOwn(body, "tick") ? "ticks" : "turns");
      if (entry.kind === "call") this.add("calls");
      if (entry.kind === "act" && act.stage === "outcome") this.add(act.state === "done" ? "acts" : "undone");
      if (entry.kind === "act" && settled) this.add(act.stage);
      this.timeline.push(this.entries > this.total - MOST ? this.timelineRow(entry, body, texts) : null);
      const key = shown(act.key);
      if (entry.kind === "act" && act.stage === "waiting" && Object.keys(object(body.payload)).length) this.waiting.set(key, cut(shown(jcs(body.payload)), SHORT));
      if (entry.kind === "act" && settled) {
        const given = this.waiting.get(key);
        this.waiting.delete(key);
        this.approvals.push(row(entry.index, moment(entry.time),
          node("td", {}, cut(shown(act.type), SHORT), given ? node("p", { class: "detail" }, given) : ""), STAGES.get(act.stage),
          cut(shown(decided.by), SHORT) || "nobody named", cut(shown(decided.words), SHORT)));
      }
      this.takeClaims(entry, object(body.claims));
      for (const one of list(texts)) if ("left_out" in one) this.absent(one);
    }

    absent(one) {
      const what = placeName(one), why = cut(shown(one.left_out), SHORT);
      if (why.startsWith("the same text as ")) return;
      if (why.startsWith("rule ")) { this.add("redacted"); this.redacted.push(absence(one.entry, what, why)); return; }
      const key = JSON.stringify([what, why]);
      this.absences.set(key, (this.absences.get(key) || 0) + 1);
    }

    takeClaims(entry, told) {
      for (const one of list(told.claims).map(object)) {
        const verdict = shown(one.verdict);
        this.add("claims"); this.add(verdict);
        const why = [shown(one.act), shown(one.why)].filter((part) => part).join(": ");
        const told = node("td", verdict === "unsupported" ? { class: "findings" } : {}, SUPPORT.get(verdict) ?? verdict);
        this.claims.push(row(entry.index, cut(shown(one.text), SHORT), told, cut(why, SHORT)));
      }
      for (const one of list(told.unclaimed)) {
        this.add("unclaimed");
        this.claims.push(row(entry.index, "nothing was said of it", "done unsaid", cut(shown(one), SHORT)));
      }
    }

    timelineRow(entry, body, texts) {
      const parts = [node("p", { class: "what" }, title(entry, body))], told = detail(entry, body);
      if (told) parts.push(node("p", { class: "detail" }, told));
      if (entry.kind === "act") {
        if (Object.keys(object(body.payload)).length) parts.push(quoted("Given", jcs(body.payload), SHORT));
        const text = shown(object(body.result).text);
        if (text) parts.push(quoted("Result", text, SHORT));
      }
      for (const one of list(texts)) parts.push(...said(one));
      return row(entry.index, node("td", { class: "when" }, moment(entry.time)), node("td", {}, parts));
    }

    sections(audit, about, verifier) {
      return [
        this.head(audit, about), this.summary(audit), verdicts(audit, about),
        section("happened", "What happened", "Turns and acts in the order in which they were recorded. Times are those of the recording machine's clock.",
          listing(this.timeline, ["Entry", "When", "What"], "Entries", "entries")),
        section("approved", "Who approved what", "Each yes and each no that a person, or a deadline, gave to an act.",
          listing(this.approvals, ["Entry", "When", "Act", "Decision", "By", "In their words"], "Decisions", "decisions")),
        section("claims", "Said against done", "What the agent said that it did, held against the acts that were recorded.",
          listing(this.claims, ["Entry", "Said", "Verdict", "Act or reason"], "Claims", "claims")),
        this.leftOut(audit, about), limits(audit, about), yourself(about, verifier),
      ];
    }

    head(audit, about) {
      const span = this.entries ? `, from ${moment(this.first)} to ${moment(this.last)}` : "";
      return node("header", {}, node("p", { class: "kind" }, "Report on a record"), node("h1", {}, shown(about.agent)),
        node("p", { class: "lead" }, `${quantity(this.entries, "entry", "entries")}${span}.`),
        node("dl", {}, pair("Log", shown(audit.origin)), pair("Public key", shown(about.public_key)), pair("Last hash", shown(audit.head) || "none")));
    }

    summary(audit) {
      const erased = audit.erased.reduce((sum, one) => sum + one.fields.length, 0);
      const figures = [
        ["turns", this.told("turns")], ["moments of its own", this.told("ticks")], ["recorded calls", this.told("calls")],
        ["acts done", this.told("acts")], ["acts refused, failed or unknown", this.told("undone")],
        ["approved by a person", this.told("approved")], ["denied or expired", this.told("denied") + this.told("expired")],
        ["claims", this.told("claims")], ["claims not borne out", this.told("unsupported")],
        ["acts nothing was said of", this.told("unclaimed")], ["fields erased", erased], ["left out by a rule", this.told("redacted")],
      ];
      const items = figures.filter(([name, number]) => number || ["turns", "acts done", "claims not borne out"].includes(name))
        .map(([name, number]) => node("div", {}, node("dt", {}, name), node("dd", {}, count(number))));
      return section("short", "In short", "", node("dl", { class: "figures" }, items));
    }

    leftOut(audit, about) {
      const told = about.texts
        ? "Texts stand beside their digests. What does not is named here, with the reason."
        : "This export holds digests of what was said and sent, not the texts themselves. What acts were given and gave is part of the entries.";
      const erased = audit.erased.map((one) => absence(one.index, cut(one.fields.map(shown).join(", "), SHORT), `erased: ${cut(shown(one.reason), SHORT)}`));
      const heads = ["Entry", "What", "Why it is not here"];
      const absent = [...this.absences].map(([key, number]) => {
        const [what, why] = JSON.parse(key);
        return node("tr", {}, node("td", {}, what), node("td", {}, why), node("td", {}, count(number)));
      });
      return section("left-out", "What is not here", told,
        node("h3", {}, "Left out of this file by a rule"), listing(this.redacted, heads, "Left out by a rule", "texts or fields"),
        node("h3", {}, "Erased for good, by a signed entry"), listing(erased, heads, "Erased fields", "erasures"),
        about.texts ? [node("h3", {}, "Bound by a digest, and not kept"), listing(absent, ["What", "Why", "Times"], "Not kept", "kinds of text")] : "");
    }
  }

  const pair = (name, value) => [node("dt", {}, name), node("dd", {}, value)];

  const title = (entry, body) => {
    const kind = shown(entry.kind);
    if (kind === "turn" && Object.hasOwn(body, "tick")) return "Moment of its own";
    const name = NAMES.get(kind) ?? kind, about = kind === "act" ? shown(object(body.act).type) : "";
    return about ? `${name}: ${cut(about, SHORT)}` : name;
  };

  const detail = (entry, body) => {
    let told = [];
    if (entry.kind === "act") {
      const act = object(body.act), stage = shown(act.stage);
      told = [STAGES.get(stage) || shown(act.state) || stage, after("by ", object(body.decided).by), shown(act.reason)];
    } else if (entry.kind === "turn" || entry.kind === "call") {
      const head = object(body[entry.kind]), route = object(body.route);
      told = [after("session ", head.session), after("asked by itself: ", head.inner), after("model ", route.model),
        head.stop === "end" ? "" : after("ended: ", head.stop), after("failed: ", head.failure)];
    } else {
      told = [after("goal: ", object(body.window).goal), after("reason: ", statement(body.signed).reason)];
    }
    return told.filter((one) => one).map((one) => cut(one, SHORT)).join("; ");
  };

  const placeName = (one) => {
    const place = shown(one.place), [top, ...rest] = place.slice(1).split("/");
    if (!("digest" in one)) return cut(`Field ${place.slice(1)}`, SHORT);
    const name = rest.join("/") === "digest" ? BODIES.get(top) : "";
    const told = name || PLACES.get(top === "acted" ? top : place.split("/").at(-1)) || cut(place, SHORT);
    const step = /^\/steps\/([0-9]{1,6})\//.exec(place);
    return step ? `${told}, step ${Number(step[1]) + 1}` : told;
  };

  const said = (one) => {
    const name = placeName(one), turn = /^\/(asked|acted)\b/.test(shown(one.place));
    const gone = (text) => [node("p", { class: "gone" }, text)];
    if ("left_out" in one) {
      const why = cut(shown(one.left_out), SHORT);
      const spoken = ["/digests/message", "/digests/answer"].includes(one.place);
      return turn || (why.startsWith("rule ") && !spoken) ? gone(`${name}: left out, ${why}`) : [];
    }
    if (!("text" in one)) return gone(`${name}: bytes, in this file and not shown`);
    if (turn) return saidTurn(one.text);
    if (["/digests/message", "/digests/answer"].includes(one.place)) return [];
    return gone(`${name}: ${quantity(length(one.text), "character", "characters")}, in this file and not shown`);
  };

  const saidTurn = (text) => {
    const turn = parse(text);
    if (turn === null) return [];
    const speaker = shown(turn.author) || (turn.role === "assistant" ? "Agent" : "User");
    return list(turn.parts).map(object).flatMap((part) => {
      const kind = shown(part.kind);
      if (kind === "text") return [quoted(speaker, shown(part.text), LONG)];
      if (kind === "tool_call") return [quoted("Calls", shown(part.name), SHORT)];
      if (kind === "tool_result") return [quoted(`Told by ${cut(shown(part.name), SHORT)}`, shown(part.text), LONG)];
      return kind === "reasoning" ? [] : [quoted("Attached", `${kind} ${shown(part.name)}`, SHORT)];
    });
  };

  const verdicts = (audit, about) => {
    const one = (question, [word, meaning]) => node("div", {}, node("dt", {}, question), node("dd", {}, node("b", {}, word), node("span", { class: "means" }, meaning)));
    const rows = [
      one("Is every entry what was recorded?", audit.findings.length
        ? ["No", "These entries, or their places, are not what was recorded."]
        : ["Yes", "Each entry has the hash of what it says, and carries the hash of the one before."]),
      one("Who vouches for it?", signedWords(audit)),
      one("Is anything missing?", missingWords(audit)),
      one("Is it the right record?", ["Compare it yourself", "Name and key of the log stand at the top. They are this file's own: hold them against those that you have from elsewhere."]),
      one("Are the texts those that were recorded?", textWords(audit, about)),
    ];
    const found = audit.findings.slice(0, MOST).map((one) => node("li", { "data-entry": String(one.index) }, `entry ${one.index}: ${shown(one.column)}`));
    return section("verdicts", "Verdicts", "As the file was made. The box at the top says what was checked here.",
      node("dl", { class: "verdicts" }, rows), found.length ? node("ul", { class: "findings" }, found) : "");
  };

  const signedWords = (audit) => {
    const signed = audit.sealed, entries = audit.size;
    if (signed === null) return ["Nobody", "No checkpoint of the key fits what is here: anybody could have written it."];
    if (signed < entries) return [`The key of the log, for ${count(signed)} of ${count(entries)} entries`, `The last ${count(entries - signed)}, anybody who had the record could have written.`];
    return [`The key of the log, for ${entries ? "all" : "none"} of ${count(entries)} entries`, "Whoever holds the private key has signed exactly these."];
  };

  const missingWords = (audit) => {
    const told = "A file cannot say what was taken from its end. A checkpoint that somebody else kept can: give it to the verifier.";
    if (!audit.dropped) return ["Not known from this file alone", told];
    return [`${quantity(audit.dropped, "entry", "entries")} at the beginning; at the end, not known`, `Their hashes are here. ${told}`];
  };

  const textWords = (audit, about) => {
    if (!about.texts) return ["There are none", "This export holds digests only."];
    if (audit.findings.some((one) => one.column === "texts")) return ["No", "A text is not the one that its entry binds; the entry is named below."];
    const fit = audit.fitting === 1 ? "it fits" : `all ${count(audit.fitting)}`;
    return [audit.fitting ? `Yes, ${fit}` : "None is here", `Each has the digest that its entry binds. Of ${count(audit.leftOut)} more only the digest is here.`];
  };

  const limits = (audit, about) => {
    const told = [
      "Whether what an entry says is true: it is what the agent's program recorded.",
      "When something really happened: times are those of a clock that its owner can set.",
      "Whether entries were removed from the end, or the whole history rewritten by whoever holds the key: only a checkpoint kept by somebody else can show that.",
      "Who held the private key when it signed.",
      "What a model computed: only what went to it and what came back is bound.",
      "Whether this page's own script is honest: whoever made the file made the script. Use a verifier that you have from elsewhere for anything that matters.",
      about.texts
        ? "What the texts that were left out say: a digest tells a text from another, not what is in it. One that is short can be guessed."
        : "What was said and sent, word by word: this export holds digests of it only.",
    ];
    return section("limits", "What cannot be known from this file", "", node("ul", {}, told.map((one) => node("li", {}, one))));
  };

  const yourself = (about, verifier) => section("yourself", "Check it yourself", "",
    node("p", {}, "With Python 3.11, the package cryptography, and nothing of Mentis. Name and key are to be those that you know, not those printed here; --checkpoint FILE adds a checkpoint that somebody kept."),
    node("p", { class: "command" }, node("code", {}, `python -I verify.py report.html --origin ${shown(about.origin)} --key ${shown(about.public_key)}`)),
    node("p", {}, node("a", { id: "verifier", download: "verify.py", href: verifier.address }, "Save verify.py"), " SHA-256 ", node("code", {}, verifier.sha256)),
    node("p", {}, "Whoever made this file could have put another verifier in. Take yours from an installation of Mentis that you trust (mentis ledger auditor), or compare its SHA-256 before you run this one."));

  // ---- compared with the page

  const UNCHECKED = () => node("div", { id: "check", role: "status", class: "unchecked" },
    node("p", {}, node("b", {}, "Nothing was checked here."), " What you read is what this file says of itself. With scripts on, the page checks itself as soon as it is opened; the verifier at its end checks it without a browser."));

  // Calls `fault` with the entry, or the part of the page, where what is shown is not what it should be.
  const compare = (made, there, where, fault) => {
    const at = Object.hasOwn(made.attributes, "data-entry") ? `entry ${made.attributes["data-entry"]}` : made.tag === "section" ? `section “${made.children[0].children[0]}”` : where;
    const names = there.nodeType === 1 ? there.getAttributeNames() : [];
    const alike = there.nodeType === 1 && there.localName === made.tag && names.length === Object.keys(made.attributes).length
      && names.every((name) => made.attributes[name] === there.getAttribute(name));
    if (!alike) { fault(at); return; }
    const children = [...there.childNodes];
    for (let n = 0; n < Math.max(children.length, made.children.length); n += 1) {
      const wanted = made.children[n], found = children[n];
      if (wanted === undefined || found === undefined) { fault(wanted && typeof wanted !== "string" ? nearest(wanted, at) : at); return; }
      if (typeof wanted !== "string") compare(wanted, found, at, fault);
      else if (found.nodeType !== 3 || found.data !== wanted) fault(at);
    }
  };
  const nearest = (made, where) => {
    if (Object.hasOwn(made.attributes, "data-entry")) return `entry ${made.attributes["data-entry"]}`;
    const inner = made.children.find((one) => typeof one !== "string");
    return inner ? nearest(inner, where) : where;
  };

  // The head, and everything that stands beside what was derived: only then does this script run, and alone.
  const compareFrame = async (about, fault) => {
    const style = head().querySelector("style"), css = style === null ? "" : style.textContent;
    if ((await sha256hex(utf8(css))) !== STYLE) fault("the style of the page");
    const title = `Record of ${shown(about.agent)}`;
    if (pageTitle() !== title) fault("the title of the page");
    const hashes = [await sha256(utf8(SELF)), unhex(STYLE)].map((one) => `'sha256-${base64(one)}'`);
    const policy = `default-src 'none'; script-src ${hashes[0]}; style-src ${hashes[1]}; base-uri 'none'; form-action 'none'`;
    compare(node("head", {}, node("meta", { charset: "utf-8" }),
      node("meta", { "http-equiv": "Content-Security-Policy", content: policy }),
      node("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
      node("meta", { name: "color-scheme", content: "light dark" }),
      node("title", {}, title), node("style", {}, css)), head(), "the head of the page", fault);
    const html = root(), around = [...html.parentNode.childNodes], doctype = around[0];
    if (around.length !== 2 || doctype.nodeType !== 10 || doctype.name !== "html" || doctype.publicId || doctype.systemId
      || html.childNodes.length !== 2 || html.getAttributeNames().join() !== "lang" || html.getAttribute("lang") !== "en"
      || body().getAttributeNames().length) fault("the frame of the page");
    const parts = [...body().childNodes], ids = parts.map((one) => one.id ?? "text");
    const known = ["check", "", "ledger.json", "checkpoints.txt", "dropped.txt", "texts.jsonl", "entries.jsonl", ""];
    const right = ids.join() === known.filter((id) => id === "" || id === "check" || find(id)).join();
    const inert = parts.slice(2, -1).every((one) => one.localName === "script" && one.getAttribute("type") === "text/plain" && one.attributes.length === 2);
    if (!right || !inert || parts.at(-1).localName !== "script" || parts.at(-1).attributes.length) fault("the frame of the page");
  };

  // The verifier that the page offers is that of this version, and knows this script.
  const compareVerifier = async (script, fault) => {
    const text = new TextDecoder().decode(script), line = /^_SCRIPT = "([0-9a-f]{64})"$/m, known = line.exec(text);
    const mine = known !== null && known[1] === (await sha256hex(utf8(SELF)));
    const rest = await sha256hex(utf8(text.replace(line, '_SCRIPT = ""')));
    if (!mine || rest !== VERIFIER) fault("section “Check it yourself”: this verifier is not the one that belongs to this page");
  };

  // ---- what is there, and nothing that is shown in its place

  // A part may have a tree of its own, which is shown instead of what it holds and which no script has to be let into. So the
  // page is put together once more, without them, and named is where there was one: nothing else refuses to take another.
  const HOSTS = new Set("article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span".split(" "));
  const isHost = (one) => {
    if (!HOSTS.has(one.localName)) return false;
    if (one.shadowRoot !== null) return true;
    try { return one.attachShadow({ mode: "open" }).mode !== "open"; } catch { return true; }
  };
  const rebuilt = (one, where, fault) => {
    if (one.nodeType !== 1) return one.cloneNode();
    if (one.localName === "script") return one;
    const at = one.hasAttribute("data-entry") ? `entry ${one.getAttribute("data-entry")}` : one.localName === "section" ? `section “${one.firstChild?.textContent}”` : where;
    let made = one.cloneNode(false);
    if (isHost(one)) {
      fault(`${at}: what is shown is not what the page holds`);
      made = create(one.localName);
      for (const name of one.getAttributeNames()) made.setAttribute(name, one.getAttribute(name));
    }
    made.append(...[...one.childNodes].map((child) => rebuilt(child, at, fault)));
    return made;
  };

  // ---- the page says what was found

  const element = (tag, text) => { const made = create(tag); made.textContent = text; return made; };
  // The first row of an entry that does not hold; all of its rows are marked, after they were compared.
  const markRows = (named) => {
    const rows = named ? [...root().querySelectorAll(`[data-entry="${named[1]}"]`)] : [];
    for (const row of rows) row.classList.add("changed");
    if (rows.length) rows[0].id = `entry-${named[1]}`;
    return rows[0];
  };
  const say = (kind, word, lines, faults) => {
    let box = find("check");
    if (box === null) { box = create("div"); box.id = "check"; body().prepend(box); }
    const told = element("p", ""), first = element("b", word);
    told.append(first, ...lines.map((line) => ` ${line}`));
    const parts = [told];
    if (faults.length) {
      const found = create("ul");
      for (const one of faults.slice(0, 20)) {
        const row = markRows(/^entry (\d+)/.exec(one)), link = element(row ? "a" : "span", one), item = create("li");
        if (row) link.href = `#${row.id}`;
        item.append(link); found.append(item);
      }
      if (faults.length > 20) found.append(element("li", `and ${count(faults.length - 20)} more`));
      parts.push(found);
    }
    box.replaceChildren(...parts);
    box.className = kind;
  };

  const offerEntries = (lines, texts, dropped) => {
    if (!lines.length) return;
    const label = element("label", "Show entry "), field = create("input"), shownThere = create("pre");
    field.type = "number"; field.min = String(dropped); field.max = String(dropped + lines.length - 1);
    label.append(field);
    shownThere.tabIndex = 0; shownThere.hidden = true; shownThere.setAttribute("aria-label", "The entry");
    field.addEventListener("input", () => {
      const entry = parse(lines[Number(field.value) - dropped] ?? "");
      shownThere.hidden = field.value === "" || entry === null;
      shownThere.textContent = shownThere.hidden ? "" : seen(JSON.stringify({ entry, texts: texts.get(entry.index) ?? [] }, null, 2));
    });
    const box = create("div");
    box.className = "look"; box.append(label, shownThere);
    find("check").append(box);
  };

  const check = async () => {
    const faults = new Set(), fault = (where) => faults.add(where);
    body().replaceWith(rebuilt(body(), "the page", fault));
    await findSignatures();
    const box = find("check");
    if (box === null) fault("the box at the top"); else compare(UNCHECKED(), box, "the box at the top", fault);
    const about = parse((await readLines("ledger.json", () => fault("ledger.json")) || []).join("\n"));
    if (about === null || typeof about.agent !== "string") return { faults: ["ledger.json cannot be read"], lines: [], texts: new Map(), dropped: 0 };
    await compareFrame(about, fault);
    const key = unbase64(about.public_key) || new Uint8Array();
    const log = `${about.origin}/${about.agent}`;
    const named = `${log}+${hex(await keyId(log, key))}+${base64(joined(Uint8Array.of(1), key))}`;
    if (about.verifier_key !== named) fault("ledger.json: the key and its name do not belong together");
    const audit = new Audit(about);
    const notes = await readLines("checkpoints.txt", () => fault("checkpoints.txt"));
    const gone = (await readLines("dropped.txt", () => fault("dropped.txt"))) || [];
    await audit.notes(notes || []);
    await audit.skip(gone.filter(isHash));
    const lines = (await readLines("entries.jsonl", (number) => fault(`entry ${gone.length + number}: its line in this file was changed`))) || [];
    const told = await readTexts(fault);
    audit.whole = about.texts === true;
    if (("texts" in about) !== (told !== null)) fault("texts.jsonl");
    const story = new Story(about.entries);
    await readEntries(audit, story, lines, told, fault);
    if (audit.size - audit.dropped !== about.entries) audit.find(audit.size, "index");
    await audit.finish(key);
    for (const one of audit.findings) fault(`entry ${one.index}: ${one.column}`);
    const link = find("verifier"), address = link === null ? "" : link.getAttribute("href");
    const script = unbase64(address.replace(/^data:text\/x-python;base64,/, "")) || new Uint8Array();
    const verifier = { address: `data:text/x-python;base64,${address.split(",")[1] ?? ""}`, sha256: await sha256hex(script) };
    await compareVerifier(script, fault);
    const wanted = node("main", {}, story.sections(audit, about, verifier));
    compare(wanted, body().children[1], "the page", (where) => fault(`${where}: what is shown is not what the entries say`));
    return { faults: [...faults], lines, texts: told || new Map(), dropped: gone.length, audit, about };
  };

  const readTexts = async (fault) => {
    const changed = new Set(), texts = new Map();
    const lines = await readLines("texts.jsonl", (number) => changed.add(number));
    if (lines === null) return null;
    let last = "the beginning";
    lines.forEach((line, number) => {
      const one = parse(line);
      const good = one !== null && Number.isInteger(one.entry) && typeof one.place === "string";
      if (good) last = `entry ${one.entry}`;
      if (!good || changed.has(number)) fault(good ? `${last}: a text beside it was changed` : `texts.jsonl, after ${last}`);
      if (good) texts.set(one.entry, [...(texts.get(one.entry) || []), one]);
    });
    return texts;
  };

  const FORM = { index: "number", agent: "string", time: "string", source: "string", kind: "string", hash: "string", recipe: "string" };
  const isEntry = (entry) => entry !== null && Object.keys(entry).length === 13
    && Object.entries(FORM).every(([name, type]) => typeof entry[name] === type)
    && ["fields", "body", "salts"].every((name) => object(entry[name]) === entry[name])
    && ["ruleset", "prev", "delivery"].every((name) => entry[name] === null || typeof entry[name] === "string");

  const readEntries = async (audit, story, lines, texts, fault) => {
    for (let start = 0; start < lines.length; start += 200) {
      const entries = lines.slice(start, start + 200).map(parse);
      const made = await Promise.all(entries.map((entry) => (isEntry(entry) ? audit.inside(entry) : null)));
      for (let n = 0; n < entries.length; n += 1) {
        if (made[n] === null) { fault(`entry ${audit.size}: it cannot be read`); audit.find(audit.size, "line"); return; }
        const own = texts === null ? null : texts.get(entries[n].index) || [];
        await audit.take(entries[n], made[n], own);
        story.take(entries[n], own);
      }
      say("working", "Checking.", [`${count(Math.min(start + 200, lines.length))} of ${count(lines.length)} entries.`], []);
    }
  };

  const start = async () => {
    if (!globalThis.crypto || !crypto.subtle) {
      say("unchecked", "Nothing was checked here.", ["This browser offers no Web Crypto for a page from this address. Save the file and open it from your disk, or use the verifier at its end."], []);
      return;
    }
    let done;
    try { done = await check(); } catch (error) {
      say("broken", "This page cannot be checked: it was changed.", [String(error)], []);
      return;
    }
    if (done.faults.length) say("broken", "Something was changed, or does not hold.", ["It begins at:"], done.faults);
    else {
      const signed = signatures ? "and so do the signatures of the key below" : "";
      say(signatures ? "holds" : "partly", signatures ? "Everything fits." : "Everything fits, but signatures were not checked.", [
        `This page was derived again from the ${quantity(done.lines.length, "entry", "entries")} in it: every hash, every link, every text and every word that is shown fit${signed ? `, ${signed}` : ""}.`,
        signatures ? "" : "This browser does not know Ed25519: use the verifier at the end of the page.",
        "Whether it is the record that you asked for, and whether its end is missing, no page can say of itself.",
      ].filter((one) => one), []);
    }
    offerEntries(done.lines, done.texts, done.dropped);
  };
  // By then all of the page is there. Whatever else may happen, what it said of itself before does not stay.
  addEventListener("DOMContentLoaded", () => start().catch(() => { root().textContent = "This page cannot be checked: it was changed."; }));
})();
