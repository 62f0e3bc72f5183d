/** The theme of the console: the system's, or one that the user chose in this browser. */
import { Store } from "../lib/store.ts";

export type Theme = "system" | "light" | "dark";

const key = "millrace.theme";

export const themeStore = new Store<Theme>(stored());

export function setTheme(theme: Theme): void {
  themeStore.set(theme);
  if (theme === "system") {
    localStorage.removeItem(key);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(key, theme);
    document.documentElement.dataset.theme = theme;
  }
}

function stored(): Theme {
  const theme = localStorage.getItem(key);
  return theme === "light" || theme === "dark" ? theme : "system";
}
