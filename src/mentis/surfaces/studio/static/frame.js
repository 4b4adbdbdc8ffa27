// The frame of every page: Ctrl-K goes anywhere, `?` lists the keys, the screen one is on is in view,
// and what waits for a yes is counted.
const isWriting = (target) => target.closest?.("input, textarea, select, [contenteditable]");

class JumpDialog {
  constructor(dialog) {
    this.dialog = dialog;
    this.field = dialog.querySelector("input");
    this.list = dialog.querySelector("[data-jump-list]");
    this.count = dialog.querySelector("[data-jump-count]");
    this.field.addEventListener("input", () => {
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.look(), 120);
    });
    dialog.querySelector("form").addEventListener("submit", (event) => this.follow(event));
    dialog.addEventListener("keydown", (event) => this.pressed(event));
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }

  open() {
    if (this.dialog.open) return;
    this.dialog.showModal();
    this.field.select();
    this.look();
  }

  // The places for what is typed now; whoever asks twice waits for the same answer.
  look() {
    clearTimeout(this.soon);
    const asked = this.field.value.trim();
    if (asked !== this.asked) {
      this.asked = asked;
      this.looking = this.load(asked);
    }
    return this.looking;
  }

  async load(asked) {
    const response = await fetch(`/studio/jump?part=places&q=${encodeURIComponent(asked)}`);
    const text = await response.text();
    if (asked !== this.asked) return;  // something else was typed meanwhile
    if (this.list.contains(document.activeElement)) this.field.focus();
    if (response.ok) this.list.innerHTML = text;  // made by our own templates, and escaped there
    else this.list.textContent = "The server did not answer. Try again.";
    this.count.textContent = `${this.links().length} places`;
  }

  links() { return [...this.list.querySelectorAll("a")]; }

  async follow(event) {
    event.preventDefault();
    await this.look();
    this.links()[0]?.click();
  }

  async pressed(event) {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (by) {
      event.preventDefault();
      await this.look();
      const links = this.links(), here = links.indexOf(document.activeElement);
      (links[here + by] || (by < 0 ? this.field : links[here]))?.focus();
    } else if (this.list.contains(event.target) && event.key.length === 1 && !event.ctrlKey && !event.metaKey) this.field.focus();
  }
}

const jump = document.querySelector("dialog#jump");
if (jump) {
  const dialog = new JumpDialog(jump), keys = document.querySelector("dialog#keys");
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      dialog.open();
    } else if (event.key === "?" && !isWriting(event.target) && !document.querySelector("dialog[open]")) keys.showModal();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-jump]")) { event.preventDefault(); dialog.open(); }
    else if (event.target.closest?.("[data-keys]")) keys.showModal();
    else if (event.target === keys) keys.close();
  });
}
const screens = document.querySelector(".top nav"), screen = screens?.querySelector("[aria-current]");
const showScreen = () => { if (screen) screens.scrollLeft = screen.offsetLeft - (screens.clientWidth - screen.offsetWidth) / 2; };
showScreen();

// Asked anew when somebody comes back to the page, or what waits was decided or asked for here.
const waiting = document.querySelector("[data-waiting]");
async function countWaiting() {
  const response = await fetch("/studio/waiting.json").catch(() => null);
  if (!response?.ok) return;
  const {count} = await response.json(), words = document.createElement("span");
  words.className = "sr";
  words.textContent = count === 1 ? " waits for your yes" : " wait for your yes";
  waiting.hidden = !count;
  waiting.replaceChildren(String(count), words);
  showScreen();
}
if (waiting) {
  countWaiting();
  document.addEventListener("mentis-acts", countWaiting);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) countWaiting(); });
}
