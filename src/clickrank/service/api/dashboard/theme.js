// Applies the chosen theme before the first paint, which a module could not do.
(() => {
  try {
    const theme = localStorage.getItem("clickrank-theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Without storage the theme of the system is used.
  }
})();
