// Light or dark: read from the surface that the host gives us, so that any host's theme is followed.

export type Wish = "auto" | "light" | "dark";

/** Whether a CSS colour `rgb(r, g, b)` is dark; null when it is not a plain colour. */
export function isDark(color: string): boolean | null {
  const parts = /rgba?\(\s*([\d.]+)[ ,]+([\d.]+)[ ,]+([\d.]+)(?:[ ,/]+([\d.]+))?/.exec(color);
  if (!parts || parts[4] === "0") return null;
  const [red, green, blue] = parts.slice(1, 4).map(Number);
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0) < 128;
}

/** Keeps `data-theme` of the root right, and calls `changed` when colours change; returns what stops it. */
export function followTheme(root: HTMLElement, wish: () => Wish, changed: () => void): () => void {
  let queued = 0;
  const read = () => {
    queued = 0;
    const asked = wish();
    root.dataset.wish = asked;
    root.dataset.theme = "auto";
    const dark = asked === "auto" ? isDark(getComputedStyle(root).backgroundColor) : asked === "dark";
    root.dataset.theme = dark ? "dark" : "light";
    changed();
  };
  const queue = () => {
    queued ||= requestAnimationFrame(read); // the host's style sheet is swapped around the change of the attribute
  };
  const observer = new MutationObserver(queue);
  const attributeFilter = ["class", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind", "style"];
  observer.observe(document.body, { attributes: true, attributeFilter });
  observer.observe(document.documentElement, { attributes: true, attributeFilter });
  observer.observe(document.head, { childList: true, subtree: true });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", queue);
  read();
  return () => {
    cancelAnimationFrame(queued);
    observer.disconnect();
    scheme.removeEventListener("change", queue);
  };
}
