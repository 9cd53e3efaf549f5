"use strict";
// The button that turns light into dark and back; without it the page is as the reader's system is.
(() => {
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = document.getElementById("theme");
  const tell = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  try { const kept = localStorage.getItem("covey-theme"); if (kept === "dark" || kept === "light") root.dataset.theme = kept; } catch (_) { /* a file may have no storage */ }
  button.hidden = false;
  tell();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("covey-theme", root.dataset.theme); } catch (_) { /* then only for now */ }
    tell();
  });
})();
