/** Saved views: queries of pages under names, of the reader's key alone. */
import { request } from "./client.ts";
import type { List } from "./types.ts";

/** The pages that have views. */
export type ViewPage = "responses" | "conversations" | "usage";

/** A page's query under a name. */
export interface SavedView {
  id: string;
  name: string;
  page: ViewPage;
  /** The query of the address, such as `q=status%3Afailed`. */
  query: string;
}

const VIEWS = "/admin/v1/views";

/** Return the views of a page, by name. */
export async function viewsOf(page: ViewPage): Promise<SavedView[]> {
  const { data } = await request<List<SavedView>>(VIEWS);
  return data.filter((each) => each.page === page);
}

/** Save a view; one of the same page and name is replaced. */
export function saveView(view: Omit<SavedView, "id">): Promise<SavedView> {
  return request(VIEWS, { method: "POST", body: view });
}

/** Delete a view. */
export function deleteView(id: string): Promise<unknown> {
  return request(`${VIEWS}/${encodeURIComponent(id)}`, { method: "DELETE" });
}
