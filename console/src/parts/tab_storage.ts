/**
 * What pages keep in this tab for one identity: it survives a reload and a new sign-in. Signing out deletes it in every
 * tab of the browser, and closing the tab deletes it too.
 */
import { PREFIX } from "../api/base.ts";

type Listener = (identity: string) => void;

const channel = new BroadcastChannel("antiphon.kept");
const listeners = new Set<Listener>();

channel.onmessage = ({ data }) => {
  if (typeof data === "string") forgetHere(data);
};

/** Call a function with each identity that signs out, in this tab or in another one. */
export function onForgotten(listener: Listener): void {
  listeners.add(listener);
}

/** Keep a text under a name. Returns false where the browser has no storage or no space for it. */
export function store(identity: string, name: string, text: string): boolean {
  try {
    sessionStorage.setItem(keyOf(identity, name), text);
    return true;
  } catch {
    drop(identity, name); // what is there is older, and would replace newer work
    return false;
  }
}

/** Return the text under a name, undefined where none is kept. */
export function stored(identity: string, name: string): string | undefined {
  try {
    return sessionStorage.getItem(keyOf(identity, name)) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Delete the text under a name. */
export function drop(identity: string, name: string): void {
  try {
    sessionStorage.removeItem(keyOf(identity, name));
  } catch {
    // The browser has no storage.
  }
}

/** Delete all that is kept for an identity, in every tab. */
export function forget(identity: string): void {
  forgetHere(identity);
  channel.postMessage(identity);
}

function forgetHere(identity: string): void {
  for (const listener of listeners) listener(identity);
  try {
    const start = keyOf(identity, "");
    for (const key of Object.keys(sessionStorage).filter((each) => each.startsWith(start))) {
      sessionStorage.removeItem(key);
    }
  } catch {
    // The browser has no storage.
  }
}

/** Identities are encoded, so that none is the beginning of another. */
function keyOf(identity: string, name: string): string {
  return `antiphon.kept ${PREFIX} ${encodeURIComponent(identity)} ${name}`;
}
