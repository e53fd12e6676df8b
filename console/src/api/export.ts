/** The filtered list of responses as a file. */
import { ApiError, send } from "./client.ts";

/** The formats of a file. */
export type ExportFormat = "csv" | "jsonl";

/** Return the name and the content of a file of all responses that match a filter line. Raises `ApiError`, also if the file was cut off. */
export async function exportResponses(q: string, format: ExportFormat): Promise<{ name: string; content: Blob }> {
  const response = await send("/admin/v1/responses/export", { query: { q, format } });
  const name = /filename="?([^";]+)/.exec(response.headers.get("content-disposition") ?? "")?.[1];
  const content = await response.blob().catch(() => {
    throw new ApiError(0, "The export ended early: the connection was lost, or your session has ended.");
  });
  return { name: name ?? `responses.${format}`, content };
}
