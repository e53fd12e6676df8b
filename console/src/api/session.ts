/** The session: whether the reader is signed in, as what, and how to sign in and out. */
import { signal } from "@preact/signals";
import { forget, onForgotten } from "../parts/tab_storage.ts";
import { ApiError, onSignedOut, request } from "./client.ts";
import type { Session } from "./types.ts";

/** `loading`, then the session, or why no session exists. `ended` is one that ended before its reader signed out. */
export type Access =
  | { is: "loading" }
  | { is: "open"; session: Session }
  | { is: "closed"; error: string; ended?: Session };

/** The state of the session. */
export const access = signal<Access>({ is: "loading" });

/** How often a session has begun: whatever is displayed is loaded again in a new one. */
export const sessions = signal(0);

onSignedOut(() => {
  const { value } = access;
  if (value.is !== "open") return;
  const error = "Your session has ended. Sign in again to continue here.";
  access.value = { is: "closed", error, ended: value.session };
});

onForgotten((reader) => {
  const isOurs = known(access.value) !== undefined && identity() === reader;
  if (isOurs) access.value = { is: "closed", error: "You signed out in another tab." };
});

/** Return the session, or the one that has ended while its page is kept. Raises an error without either. */
export function session(): Session {
  const found = known(access.value);
  if (!found) throw new Error("No session");
  return found;
}

/** Return the session of the page that is displayed or kept. */
export function known(state: Access): Session | undefined {
  return state.is === "open" ? state.session : state.is === "closed" ? state.ended : undefined;
}

/** Return a text that identifies the reader: what one reader leaves in this browser, no other sees. */
export function identity(): string {
  const { key_id, role, tenant } = session();
  return JSON.stringify([role, tenant, key_id]);
}

/** Load the session; first redeem the one-time code of a sign-in link, and remove the code from the address. */
export async function openSession(): Promise<void> {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (code === undefined) return load(() => request<Session>("/admin/v1/session"), "");
  history.replaceState(null, "", location.pathname + location.search);
  return load(() => request<Session>("/admin/v1/session", { method: "POST", body: { code } }));
}

/** Sign in with an API key. The key is sent once and kept nowhere. */
export function signIn(key: string): Promise<void> {
  return load(() => request<Session>("/admin/v1/session", { method: "POST", body: { key } }));
}

/** End the session on the server, and delete what the browser keeps for it. */
export async function signOut(): Promise<void> {
  const reader = identity();
  await request("/admin/v1/session", { method: "DELETE" }).catch(() => {});
  access.value = { is: "closed", error: "" };
  forget(reader);
}

async function load(open: () => Promise<Session>, unauthorized?: string): Promise<void> {
  try {
    access.value = { is: "open", session: await open() };
    sessions.value += 1;
  } catch (error) {
    const isExpected = error instanceof ApiError && error.status === 401 && unauthorized !== undefined;
    const ended = known(access.value);
    const text = isExpected ? unauthorized : (error as Error).message;
    access.value = { is: "closed", error: text, ...(ended ? { ended } : {}) };
  }
}
