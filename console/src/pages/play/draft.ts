/** The message that a reader writes: text, pictures and files, and who says it. */
import { type StoredFile, upload } from "../../api/files.ts";
import type { Item, Json } from "../../api/types.ts";

/** A file in addition to the text: as a data URL, or by the id of an uploaded file. */
export interface Attachment {
  name: string;
  size: number;
  url?: string;
  id?: string;
}

/** The message as it is written. */
export interface Draft {
  role: "user" | "developer" | "system";
  text: string;
  files: Attachment[];
}

/** An empty message. */
export const EMPTY: Draft = { role: "user", text: "", files: [] };

/** Stands for a text or file that was too large for the browser to keep. */
export const NOT_STORED = "(not kept by the browser)";

/** Whether nothing is written. */
export function isBlank({ text, files }: Draft): boolean {
  return !text.trim() && files.length === 0;
}

/** Whether a text or file of a value was not kept. */
export function hasGap(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === NOT_STORED;
  return Object.values(value).some(hasGap);
}

const LARGEST = 20_000_000; // bytes of a file

/** Return the input of a draft: a text where that is enough, else items. */
export function inputOf(draft: Draft, before: readonly Item[] = []): string | Item[] {
  const isEmpty = !draft.text && draft.files.length === 0;
  return isEmpty && before.length === 0 ? "" : inputFrom(isEmpty ? before : [...before, itemOf(draft)]);
}

/** Return items as a request sends them: a text of the user alone as a text. */
export function inputFrom(items: readonly Item[]): string | Item[] {
  const [item] = items;
  const [part, ...others] = item?.role === "user" ? ((item.content ?? []) as Json[]) : [];
  const isText = items.length === 1 && others.length === 0 && part?.type === "input_text";
  return isText ? String(part.text) : [...items];
}

/** Return the draft as an item. */
export function itemOf({ role, text, files }: Draft): Item {
  const content: Json[] = text ? [{ type: "input_text", text }] : [];
  return { type: "message", role, content: [...content, ...files.map(partOf)] };
}

/** Return a message as a draft, with its files. */
export function draftOf({ role, content }: Item): Draft {
  const parts = typeof content === "string" ? [{ type: "input_text", text: content }] : ((content ?? []) as Json[]);
  const texts = parts.filter(({ text }) => typeof text === "string").map(({ text }) => text);
  const files = parts.filter(({ type }) => type === "input_image" || type === "input_file").map(fileOf);
  return {
    role: (role ?? "user") as Draft["role"],
    text: texts.join("\n"),
    files: files.filter(({ url }) => url !== NOT_STORED),
  };
}

function fileOf({ type, filename, file_id: id, image_url, file_data }: Json): Attachment {
  const url = image_url ?? file_data;
  const name = String(filename ?? id ?? (type === "input_image" ? "image.png" : "file"));
  if (typeof url !== "string") return { name, size: 0, id: String(id ?? "") };
  return { name, size: Math.floor((url.length * 3) / 4), url };
}

/** Return a draft from a request's input: the last user message where it has only texts, and the items before it. */
export function draftFrom(input: string | Item[]): { draft: Draft; before: Item[] } {
  if (typeof input === "string") return { draft: { ...EMPTY, text: input }, before: [] };
  const last = input.at(-1);
  const content = typeof last?.content === "string" ? [{ type: "input_text", text: last.content }] : last?.content;
  const texts = Array.isArray(content) ? (content as Json[]) : [];
  const isPlain = last?.role === "user" && texts.every(({ type }) => type === "input_text");
  if (!isPlain) return { draft: EMPTY, before: input };
  return { draft: { ...EMPTY, text: texts.map(({ text }) => text).join("\n") }, before: input.slice(0, -1) };
}

/** Upload files, one after the other; requests then name their ids. `onProgress` receives the share from 0 to 1. */
export async function uploadAll(
  files: Iterable<File>,
  onProgress: (name: string, share: number) => void,
  signal: AbortSignal,
): Promise<Attachment[]> {
  const found: Attachment[] = [];
  for (const file of files) {
    const report = (sent: number) => onProgress(file.name, sent / Math.max(1, file.size));
    const purpose = file.type.startsWith("image/") ? "vision" : "user_data";
    found.push(attachmentOf(await upload(file, { purpose, onProgress: report, signal })));
  }
  return found;
}

/** Read files as attachments. Raises an error for a file that is too large. */
export function attach(files: Iterable<File>): Promise<Attachment[]> {
  return Promise.all([...files].map(read));
}

function read(file: File): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    if (file.size > LARGEST) reject(new Error(`${file.name} is larger than 20 MB. Upload it and send its ID.`));
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, url: String(reader.result), size: file.size });
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

/** Return an uploaded file as an attachment. */
export function attachmentOf({ id, filename, bytes }: StoredFile): Attachment {
  return { id, name: filename, size: bytes };
}

/** Whether an attachment is a picture, for which requests have a part of its own. */
export function isPicture({ name, url }: Attachment): boolean {
  return url ? url.startsWith("data:image/") : /\.(png|jpe?g|gif|webp)$/i.test(name);
}

function partOf(file: Attachment): Json {
  const { name, url, id } = file;
  if (isPicture(file)) return id ? { type: "input_image", file_id: id } : { type: "input_image", image_url: url };
  return id ? { type: "input_file", file_id: id } : { type: "input_file", filename: name, file_data: url };
}
