// Light or dark: as the system says, until the reader chooses.
import type { ThemeName } from "../colors";

const KEY = "nestmap-theme";

export function startTheme(): ThemeName {
  const theme = remembered() ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  return theme;
}

function remembered(): ThemeName | null {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null; // storage may be forbidden
  }
}

export function setTheme(theme: ThemeName): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // it holds for this visit
  }
}

export function followSystem(change: (theme: ThemeName) => void): void {
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    if (remembered()) return;
    const theme = event.matches ? "dark" : "light";
    document.documentElement.dataset.theme = theme;
    change(theme);
  });
}
