/** Lists that are loaded page by page. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { request } from "../api/client.ts";
import { sessions } from "../api/session.ts";
import type { List } from "../api/types.ts";

/** A list as far as it is loaded. */
export interface Paged<T> {
  items: readonly T[];
  hasMore: boolean;
  isLoading: boolean;
  error: unknown;
  loadMore: () => void;
  reload: () => void;
  /** Load what is shown once more, in place: at most the first `REFRESHED` items. */
  refresh: () => void;
}

const PAGE = 50;
/** So many items, from the first on, are loaded once more by a refresh. */
export const REFRESHED = 100;

/** Load a list in pages by `after`; `path` and `query` say which. */
export function usePaged<T extends { id: string }>(path: string, query: Record<string, string> = {}): Paged<T> {
  const items = useSignal<readonly T[]>([]);
  const hasMore = useSignal(false);
  const isLoading = useSignal(true);
  const error = useSignal<unknown>(undefined);
  const turn = useSignal(0);
  const begun = useRef(0);
  const answered = useRef(0);
  const load = async (after: string | undefined, signal?: AbortSignal) => {
    try {
      const page = await request<List<T>>(path, {
        query: { limit: PAGE, ...query, after },
        ...(signal ? { signal } : {}),
      });
      items.value = after === undefined ? page.data : [...items.value, ...page.data];
      hasMore.value = page.has_more;
      error.value = undefined;
    } catch (reason) {
      if (!signal?.aborted) error.value = reason;
    }
    isLoading.value = false;
  };
  const refresh = async () => {
    const number = ++begun.current;
    const limit = Math.min(REFRESHED, Math.max(PAGE, items.value.length));
    try {
      const page = await request<List<T>>(path, { query: { ...query, limit } });
      if (number < answered.current) return; // a later refresh was answered first
      answered.current = number;
      const fresh = new Set(page.data.map(({ id }) => id));
      const after = page.has_more ? items.value.slice(limit).filter(({ id }) => !fresh.has(id)) : [];
      items.value = [...page.data, ...after];
      if (after.length === 0) hasMore.value = page.has_more;
      error.value = undefined;
    } catch (reason) {
      error.value = reason;
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is named by its path and query.
  useEffect(() => {
    const control = new AbortController();
    void load(undefined, control.signal);
    return () => control.abort();
  }, [path, JSON.stringify(query), turn.value, sessions.value]);
  return {
    items: items.value,
    hasMore: hasMore.value,
    isLoading: isLoading.value,
    error: error.value,
    loadMore: () => void load(items.value.at(-1)?.id),
    reload: () => turn.value++,
    refresh: () => void refresh(),
  };
}
