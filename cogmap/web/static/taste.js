// Dark or light, much or little motion.

/** The reader's taste as the system knows it: dark or light, much or little motion. */
export function followTaste(app) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  dark.addEventListener("change", () => app.change({ dark: dark.matches }));
  calm.addEventListener("change", () => app.change({ calm: calm.matches }));
  app.change({ dark: dark.matches, calm: calm.matches });
}
