/** Requests to this server: one header that no other site can send, and errors that say what to do. */
import { PREFIX } from "./base.ts";
import { noteTime } from "./clock.ts";

/** An error of the API, or of the network (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
  /** The id of the request in the server's log, empty without a reply. */
  readonly requestId: string;

  constructor(status: number, message: string, code = "", param: string | null = null, requestId = "") {
    super(message);
    this.requestId = requestId;
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** Bytes of a reply that a page reads: a browser freezes over much more. */
export const MOST_BYTES = 20_000_000;

/** A reply that is too large for a page. It can be downloaded. */
export class TooLargeError extends ApiError {
  readonly path: string;
  readonly query: Options["query"];

  constructor(path: string, query: Options["query"], size: number) {
    const known = size > 0 ? `${(size / 1e6).toFixed(1)} MB` : `more than ${MOST_BYTES / 1e6} MB`;
    super(200, `This is too large to show (${known}).`, "too_large");
    this.path = path;
    this.query = query;
  }
}

/** What a request may have. */
export interface Options {
  method?: "GET" | "POST" | "DELETE";
  query?: Record<string, string | number | undefined> | undefined;
  body?: unknown;
  signal?: AbortSignal;
}

type Listener = () => void;
let signedOut: Listener = () => {};

/** Call a function whenever the server answers that no user is signed in. */
export function onSignedOut(listener: Listener): void {
  signedOut = listener;
}

/** Send a request and return its JSON. Raises `ApiError`, for a large reply to a GET `TooLargeError`. */
export async function request<T>(path: string, options: Options = {}): Promise<T> {
  const response = await send(path, options);
  if (response.status === 204) return undefined as T;
  const isRead = (options.method ?? "GET") === "GET"; // a POST cannot be repeated to download its reply
  const text = isRead ? await boundedText(response, path, options.query) : await response.text();
  return jsonOf<T>(response, path, text);
}

/** Return the value of a reply's text. Raises `ApiError` for a text that is not JSON. */
export function jsonOf<T>({ status }: Response, path: string, text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ApiError(status, `The server's answer to ${path} is not JSON. Check the proxy before the server.`);
  }
}

/** Return the text of a reply, and stop reading where it is too large. */
async function boundedText(response: Response, path: string, query: Options["query"]): Promise<string> {
  const size = Number(response.headers.get("content-length") ?? 0);
  const reader = response.body?.getReader();
  if (!reader) return response.text();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  for (let read = 0; ; ) {
    if (size > MOST_BYTES || read > MOST_BYTES) {
      void reader.cancel();
      throw new TooLargeError(path, query, size);
    }
    const { done, value } = await reader.read();
    if (done) return parts.join("") + decoder.decode();
    read += value.length;
    parts.push(decoder.decode(value, { stream: true }));
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
  noteTime(response.headers.get("date"));
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
  const id = response.headers.get("x-request-id") ?? "";
  return errorFrom(response.status, response.statusText, await response.text().catch(() => ""), id);
}

/** Return the error of a reply: what its envelope says, or its status where the body is no envelope. */
export function errorFrom(status: number, statusText: string, body: string, id = ""): ApiError {
  if (status === 401) signedOut();
  try {
    const { error } = JSON.parse(body) as { error: { message: string; code?: string; param?: string } };
    return new ApiError(status, String(error.message), error.code ?? "", error.param ?? null, id);
  } catch {
    return new ApiError(status, `The server answered ${status} ${statusText}`.trim(), "", null, id);
  }
}

/** Return what to do about an error, as one sentence; empty where the message says it already. */
export function advice(error: unknown): string {
  if (!(error instanceof ApiError)) return "Reload the page.";
  if (error.code === "not_stored") return "";
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
  503: "Try again in a moment. If it lasts, see Backends and the server's log.",
};
