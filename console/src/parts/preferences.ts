/** What the reader chose in this browser: the colour scheme, the time zone, and whether single keys do something. */
import { effect, signal } from "@preact/signals";

/** The colour schemes; `system` follows the operating system. */
export const THEMES = ["system", "light", "dark"] as const;

/** One of the colour schemes. */
export type Theme = (typeof THEMES)[number];

/** The chosen colour scheme. */
export const theme = signal<Theme>(stored("theme", THEMES));

/** Whether single keys are shortcuts. */
export const shortcuts = signal<"on" | "off">(stored("shortcuts", ["on", "off"]));

/** The time zone of the times that are shown: that of the browser (`local`), or UTC. */
export const zone = signal<"local" | "UTC">(stored("zone", ["local", "UTC"]));

effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  save("theme", theme.value);
});

effect(() => save("shortcuts", shortcuts.value));
effect(() => save("zone", zone.value));

/** Take the next colour scheme. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}

/** Take the other time zone. */
export function nextZone(): void {
  zone.value = zone.value === "UTC" ? "local" : "UTC";
}

function stored<T extends string>(name: string, values: readonly [T, ...T[]]): T {
  try {
    const found = localStorage.getItem(`antiphon.${name}`);
    return values.find((value) => value === found) ?? values[0];
  } catch {
    return values[0]; // The browser allows no storage.
  }
}

function save(name: string, value: string): void {
  try {
    localStorage.setItem(`antiphon.${name}`, value);
  } catch {
    // The choice holds until the page is closed.
  }
}
