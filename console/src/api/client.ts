/** Requests to this server: one header that no other site can send, and errors that say what to do. */
import { PREFIX } from "./base.ts";

/** An error of the API, or of the network (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | null;

  constructor(status: number, message: string, code = "", param: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** What a request may have. */
export interface Options {
  method?: "GET" | "POST" | "DELETE";
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  signal?: AbortSignal;
}

type Listener = () => void;
let signedOut: Listener = () => {};

/** Call a function whenever the server answers that no user is signed in. */
export function onSignedOut(listener: Listener): void {
  signedOut = listener;
}

/** Send a request and return its JSON. Raises `ApiError`. */
export async function request<T>(path: string, options: Options = {}): Promise<T> {
  const response = await send(path, options);
  if (response.status === 204) return undefined as T;
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiError(
      response.status,
      `The server's answer to ${path} is not JSON. Check the proxy before the server.`,
    );
  }
}

/** Send a request and return the response as soon as its head is there. Raises `ApiError`. */
export async function send(path: string, options: Options = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address(path, options.query), init(options));
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The server is unreachable. Check that it is running.");
  }
  if (response.ok) return response;
  throw await errorOf(response);
}

/** Return the address of a path of the API, with the parts of its query that have a value. */
export function address(path: string, query: Options["query"] = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") parts.set(name, String(value));
  }
  const text = parts.toString();
  return `${PREFIX}${path}${text && `?${text}`}`;
}

function init({ method = "GET", body, signal }: Options): RequestInit {
  const headers: Record<string, string> = { accept: "application/json, text/event-stream", "antiphon-console": "1" };
  if (body !== undefined) headers["content-type"] = "application/json";
  return {
    method,
    headers,
    credentials: "same-origin",
    cache: "no-store",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  };
}

async function errorOf(response: Response): Promise<ApiError> {
  return errorFrom(response.status, response.statusText, await response.text().catch(() => ""));
}

/** Return the error of a reply: what its envelope says, or its status where the body is no envelope. */
export function errorFrom(status: number, statusText: string, body: string): ApiError {
  if (status === 401) signedOut();
  try {
    const { error } = JSON.parse(body) as { error: { message: string; code?: string; param?: string } };
    return new ApiError(status, String(error.message), error.code ?? "", error.param ?? null);
  } catch {
    return new ApiError(status, `The server answered ${status} ${statusText}`.trim());
  }
}

/** Return what to do about an error, as one sentence; empty where the message says it already. */
export function advice(error: unknown): string {
  if (!(error instanceof ApiError)) return "Reload the page.";
  return ADVICE[error.status] ?? "";
}

const ADVICE: Record<number, string> = {
  0: "The page tries again when you reload it.",
  401: "Sign in again.",
  403: "Sign in with a key that has the role.",
  404: "It may have expired or been deleted.",
  429: "Wait a moment, then try again.",
  500: "See the server's log for the cause.",
  502: "See Backends for the cause.",
  503: "See Backends for the cause.",
};
