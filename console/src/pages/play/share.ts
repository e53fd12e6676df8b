/** Links to the playground: the settings and the draft in the address's fragment, which no server receives. */
import { EMPTY } from "./draft.ts";
import { type Settings, USUAL, withoutSecrets } from "./settings.ts";

/** Return the fragment for settings and a text. */
export function fragmentOf(settings: Settings, text: string): string {
  const bytes = new TextEncoder().encode(JSON.stringify({ settings: withoutSecrets(settings), text }));
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#s=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Return the settings and the text of a fragment, or undefined where it is none of ours. Unknown fields are ignored. */
export function fromFragment(fragment: string): { settings: Settings; text: string } | undefined {
  const packed = /^#s=([\w-]+)$/.exec(fragment)?.[1];
  if (packed === undefined) return undefined;
  try {
    const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const found = JSON.parse(new TextDecoder().decode(Uint8Array.from(letters, (letter) => letter.charCodeAt(0))));
    return { settings: checked(found.settings ?? {}), text: typeof found.text === "string" ? found.text : EMPTY.text };
  } catch {
    return undefined;
  }
}

/** Return settings of a link, which anyone can write: the type of each field is checked. */
export function checked(found: Record<string, unknown>): Settings {
  const names = Object.keys(USUAL) as (keyof Settings)[];
  const known = names.filter((name) => Object.hasOwn(found, name) && isLike(found[name], USUAL[name]));
  const settings = { ...USUAL, ...Object.fromEntries(known.map((name) => [name, found[name]])) } as Settings;
  return {
    ...settings,
    models: settings.models.filter((name) => typeof name === "string").slice(0, 4),
    tools: settings.tools.filter((each) => typeof each?.tool === "object" && each.tool !== null),
  };
}

function isLike(value: unknown, usual: unknown): boolean {
  return typeof value === typeof usual && Array.isArray(value) === Array.isArray(usual) && value !== null;
}
