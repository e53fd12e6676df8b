/** What the list of vector stores and one of them share. */
import type { StoreFile, VectorStore } from "../../api/files.ts";
import { count } from "../../parts/format.ts";

const TONES = { in_progress: "accent", completed: "good", expired: "warn", failed: "bad", cancelled: "" } as const;

/** The status of a vector store, or of a file in one. */
export function StatusTag({ status }: { status: VectorStore["status"] | StoreFile["status"] }) {
  return <span class={`tag ${TONES[status]}`}>{status.replace("_", " ")}</span>;
}

/** Return the counts of files in words: `12 files`, `12 files, 3 in progress, 1 failed`. */
export function countsOf({ file_counts: { total, in_progress, failed, cancelled } }: VectorStore): string {
  const parts = [
    `${count(total)} ${total === 1 ? "file" : "files"}`,
    in_progress > 0 && `${count(in_progress)} in progress`,
    failed > 0 && `${count(failed)} failed`,
    cancelled > 0 && `${count(cancelled)} cancelled`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Return the name of a vector store, or its id where it has none. */
export function nameOf({ name, id }: { name: string | null; id: string }): string {
  return name || id;
}
