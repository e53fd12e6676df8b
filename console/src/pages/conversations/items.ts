/** The items of a conversation, loaded in both directions; those far from the reader are dropped. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { request } from "../../api/client.ts";
import { sessions } from "../../api/session.ts";
import type { Item, List } from "../../api/types.ts";
import { MOST_RENDERED, type Move, STEP, type Stretch } from "../../parts/items/stretch.tsx";

interface ItemsPage extends List<Item> {
  /** The tenant of the conversation. */
  tenant: string;
  /** The IDs of the responses that added the items, by item. */
  responses: Record<string, string>;
}

interface Loaded {
  items: Item[];
  tenant: string;
  responses: Record<string, string>;
  hasEarlier: boolean;
  hasLater: boolean;
}

/** The items as far as they are loaded, at first the newest. */
export interface Items {
  /** Undefined until the first answer. */
  stretch: Stretch | undefined;
  tenant: string;
  responses: Record<string, string>;
  error: unknown;
  reload: () => void;
}

/** Load the items of a conversation. */
export function useItems(id: string): Items {
  const loaded = useSignal<Loaded | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const isLoading = useSignal(false);
  const load = async (move: Move) => {
    if (isLoading.value) return;
    isLoading.value = true;
    try {
      loaded.value = moved(loaded.value, move, await pageOf(id, move, loaded.value));
      error.value = undefined;
    } catch (reason) {
      error.value = reason;
    }
    isLoading.value = false;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the newest items are loaded once.
  useEffect(() => void load("end"), [id]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new session tries again what failed.
  useEffect(() => {
    if (error.value !== undefined) void load("end");
  }, [sessions.value]);
  const { items = [], tenant = "", responses = {}, hasEarlier = false, hasLater = false } = loaded.value ?? {};
  return {
    stretch: loaded.value && { items, hasEarlier, hasLater, move: (to) => void load(to) },
    tenant,
    responses,
    error: error.value,
    reload: () => void load("end"),
  };
}

function pageOf(id: string, move: Move, loaded: Loaded | undefined): Promise<ItemsPage> {
  const isUp = move === "start" || move === "later";
  const after = move === "earlier" ? loaded?.items[0]?.id : move === "later" ? loaded?.items.at(-1)?.id : undefined;
  const query = { order: isUp ? "asc" : "desc", limit: STEP, after };
  return request(`/admin/v1/conversations/${encodeURIComponent(id)}/items`, { query });
}

/** Return what is loaded after a move: a page alone, or joined to what was there. */
export function moved(before: Loaded | undefined, move: Move, page: ItemsPage): Loaded {
  const { data, has_more: hasMore, tenant, responses } = page;
  const known = { tenant, responses: { ...before?.responses, ...responses } };
  const there = before?.items ?? [];
  switch (move) {
    case "start":
      return { ...known, items: data, hasEarlier: false, hasLater: hasMore };
    case "end":
      return { ...known, items: data.toReversed(), hasEarlier: hasMore, hasLater: false };
    case "earlier": {
      const items = [...data.toReversed(), ...there];
      const hasLater = items.length > MOST_RENDERED || (before?.hasLater ?? false);
      return { ...known, items: items.slice(0, MOST_RENDERED), hasEarlier: hasMore, hasLater };
    }
    case "later": {
      const items = [...there, ...data];
      const hasEarlier = items.length > MOST_RENDERED || (before?.hasEarlier ?? false);
      return { ...known, items: items.slice(-MOST_RENDERED), hasEarlier, hasLater: hasMore };
    }
  }
}
