// Before the page is painted: the colours that were chosen here, or those of the system.
(() => {
  const kinds = ["", "light", "dark"];
  const words = {"": "as the system", light: "light", dark: "dark"};
  let chosen = "";
  try { chosen = localStorage.getItem("mentis-colours") || ""; } catch { /* none are kept */ }
  const show = () => {
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    const button = document.querySelector("[data-theme-switch]");
    if (button) button.setAttribute("aria-label", `Colours: ${words[chosen]}`);
    if (button) button.title = `Colours: ${words[chosen]}`;
  };
  show();
  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-switch]")) return;
    chosen = kinds[(kinds.indexOf(chosen) + 1) % kinds.length];
    try { localStorage.setItem("mentis-colours", chosen); } catch { /* for this page alone */ }
    show();
  });
})();
