/** The clipboard, and files to save. */
import { announce } from "./live.tsx";

/** Copy a text; say so. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce(`${what} copied.`);
  } catch {
    announce("The browser did not allow copying.");
  }
}

/** Save a text as a file. */
export function save(name: string, text: string, type: string): void {
  saveBlob(name, new Blob([text], { type }));
}

/** Save bytes as a file. */
export function saveBlob(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
  announce(`${name} saved.`);
}

/** Return rows as CSV. A cell that a spreadsheet would run as a formula gets a quote before it. */
export function toCsv(rows: readonly (readonly unknown[])[]): string {
  return rows.map((row) => row.map(csvCell).join(",")).join("\r\n");
}

function csvCell(value: unknown): string {
  const text = String(value ?? "");
  const isFormula = /^[=+\-@\t\r]/.test(text) && typeof value !== "number";
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
