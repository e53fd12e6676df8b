/** The session: whether the reader is signed in, as what, and how to sign in and out. */
import { signal } from "@preact/signals";
import { ApiError, onSignedOut, request } from "./client.ts";
import type { Session } from "./types.ts";

/** `loading`, then the session, or why no session exists. */
export type Access = { is: "loading" } | { is: "open"; session: Session } | { is: "closed"; error: string };

/** The state of the session. */
export const access = signal<Access>({ is: "loading" });

onSignedOut(() => {
  if (access.value.is === "open") access.value = { is: "closed", error: "Your session has ended. Sign in again." };
});

/** Return the session. Raises an error outside of it. */
export function session(): Session {
  if (access.value.is !== "open") throw new Error("No session");
  return access.value.session;
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

/** End the session on the server. */
export async function signOut(): Promise<void> {
  await request("/admin/v1/session", { method: "DELETE" }).catch(() => {});
  access.value = { is: "closed", error: "" };
}

async function load(open: () => Promise<Session>, unauthorized?: string): Promise<void> {
  try {
    access.value = { is: "open", session: await open() };
  } catch (error) {
    const isExpected = error instanceof ApiError && error.status === 401 && unauthorized !== undefined;
    access.value = { is: "closed", error: isExpected ? unauthorized : (error as Error).message };
  }
}
