/** Where the console and the API are: below any prefix that the server is mounted at. */

/** Return the path of the console, ending in a slash, from the address of one of its scripts. */
export function consolePath(script: string): string {
  const { pathname } = new URL(script);
  const end = pathname.lastIndexOf("/console/assets/");
  return end < 0 ? "/console/" : pathname.slice(0, end + "/console/".length);
}

/** The path of the console, such as `/console/`. */
export const CONSOLE = consolePath(import.meta.url);

/** The prefix of the server, empty where it is mounted at the root. */
export const PREFIX = CONSOLE.slice(0, -"/console/".length);

/** Return the address that a client of the API uses as its base URL. */
export function apiBase(): string {
  return `${location.origin}${PREFIX}/v1`;
}
