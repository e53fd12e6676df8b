/** Requests about files and vector stores. Lists come from `/admin/v1`, changes go to `/v1`. */
import { ApiError, address, errorFrom, request, send } from "./client.ts";
import { session } from "./session.ts";
import type { Item, Json } from "./types.ts";

/** What a file may be uploaded for. */
export const PURPOSES = ["user_data", "assistants", "vision", "batch", "evals", "fine-tune"] as const;

/** One of the purposes. */
export type Purpose = (typeof PURPOSES)[number];

/** A file of a list. Times are seconds since the epoch; `tenant` is null without API keys. */
export interface StoredFile {
  id: string;
  bytes: number;
  created_at: number;
  expires_at: number | null;
  filename: string;
  purpose: string;
  tenant: string | null;
}

/** How many files of a vector store have which status. */
export interface FileCounts {
  in_progress: number;
  completed: number;
  failed: number;
  cancelled: number;
  total: number;
}

/** A vector store. Times are seconds since the epoch. */
export interface VectorStore {
  id: string;
  created_at: number;
  name: string | null;
  usage_bytes: number;
  file_counts: FileCounts;
  status: "in_progress" | "completed" | "expired";
  expires_after: { days: number } | null;
  expires_at: number | null;
  last_active_at: number;
  tenant: string | null;
}

/** Values by name that filter a search. */
export type Attributes = Record<string, string | number | boolean>;

/** A file in a vector store. */
export interface StoreFile {
  id: string;
  created_at: number;
  usage_bytes: number;
  status: "in_progress" | "completed" | "failed" | "cancelled";
  last_error: { code: string; message: string } | null;
  attributes: Attributes;
  filename: string;
}

/** A passage that a search found: of the search endpoint, or of the results of a `file_search_call`. */
export interface Hit {
  file_id: string;
  filename: string;
  score: number;
  attributes: Attributes;
  text: string;
}

/** The endpoint of files of the reader's own tenant. */
export const FILES = "/v1/files";

/** The endpoint of vector stores of the reader's own tenant. */
export const STORES = "/v1/vector_stores";

/** Whether something belongs to the reader's tenant: only then can the reader change it. */
export function isOwn({ tenant }: { tenant: string | null }): boolean {
  return (tenant ?? "") === (session().tenant ?? "");
}

/** Return the path of a vector store, for changes of it. */
export function pathOf(id: string, rest = ""): string {
  return `${STORES}/${encodeURIComponent(id)}${rest}`;
}

/** Return a vector store; a tenant other than the reader's own has to be named. */
export function getStore(id: string, tenant: string, signal: AbortSignal): Promise<VectorStore> {
  return request(`/admin${pathOf(id)}`, { query: { tenant }, signal });
}

/** Return a file; a tenant other than the reader's own has to be named. */
export function getFile(id: string, tenant: string, signal: AbortSignal): Promise<StoredFile> {
  return request(`/admin${FILES}/${encodeURIComponent(id)}`, { query: { tenant }, signal });
}

/** Attach files to a vector store. */
export function attachFiles(id: string, fileIds: readonly string[]): Promise<unknown> {
  return request(pathOf(id, "/file_batches"), { method: "POST", body: { file_ids: fileIds } });
}

/** Search a vector store. */
export async function searchStore(id: string, body: Json, signal?: AbortSignal): Promise<Hit[]> {
  type Found = Omit<Hit, "text"> & { content: { text: string }[] };
  const options = { method: "POST", body, ...(signal ? { signal } : {}) } as const;
  const { data } = await request<{ data: Found[] }>(pathOf(id, "/search"), options);
  return data.map(({ content, ...hit }) => ({ ...hit, text: content.map(({ text }) => text).join("\n") }));
}

/** Return the passages of a `file_search_call`, empty where its response was created without them. */
export function hitsOf(item: Item): Hit[] {
  const results = Array.isArray(item.results) ? (item.results as Json[]) : [];
  return results.map((each) => ({
    file_id: String(each.file_id ?? ""),
    filename: String(each.filename ?? ""),
    score: Number(each.score ?? 0),
    attributes: (each.attributes ?? {}) as Attributes,
    text: String(each.text ?? ""),
  }));
}

/** Delete a file. */
export function deleteFile(id: string): Promise<unknown> {
  return request(`${FILES}/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Return the content of a file. The browser keeps large content on its disk. */
export async function contentOf(id: string): Promise<Blob> {
  return (await send(`${FILES}/${encodeURIComponent(id)}/content`)).blob();
}

/** What an upload may have. */
export interface UploadOptions {
  purpose: Purpose;
  /** Seconds until the file expires; undefined for never. */
  seconds?: number | undefined;
  onProgress: (sent: number) => void;
  signal: AbortSignal;
}

/** Upload a file and return it. `fetch` reports no progress, so this is an `XMLHttpRequest`. Raises `ApiError`. */
export function upload(file: File, { purpose, seconds, onProgress, signal }: UploadOptions): Promise<StoredFile> {
  const form = new FormData();
  form.set("purpose", purpose);
  if (seconds !== undefined) {
    form.set("expires_after[anchor]", "created_at");
    form.set("expires_after[seconds]", String(seconds));
  }
  form.set("file", file);
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("POST", address(FILES));
    sending.setRequestHeader("antiphon-console", "1");
    sending.upload.onprogress = ({ loaded }) => onProgress(Math.min(loaded, file.size));
    sending.onload = () => {
      if (sending.status === 200) resolve(JSON.parse(sending.responseText) as StoredFile);
      else reject(errorFrom(sending.status, sending.statusText, sending.responseText));
    };
    sending.onerror = () => reject(new ApiError(0, "The connection was lost before the file was uploaded."));
    sending.onabort = () => reject(new ApiError(0, "Cancelled."));
    signal.addEventListener("abort", () => sending.abort());
    sending.send(form);
  });
}
