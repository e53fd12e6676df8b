/** The search of a vector store: passages with scores, file names and attributes. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Hit, searchStore, type VectorStore } from "../../api/files.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { duration, plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Hits } from "../../parts/items/hits.tsx";
import { useShortcuts } from "../../parts/keys.ts";
import { announce } from "../../parts/live.tsx";
import { COMPARISONS, type Comparison, filterOf } from "./filter.ts";
import "./store_search.css";

const LIMITS = [5, 10, 20, 50];

interface Found {
  hits: Hit[];
  ms: number;
}

/** The form and what it found; `/` goes to it. */
export function StoreSearch({ store }: { store: VectorStore }) {
  const text = useSignal("");
  const limit = useSignal(10);
  const comparison = useSignal<Comparison>({ key: "", type: "eq", value: "" });
  const found = useSignal<Found | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const isRunning = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  const control = useRef(new AbortController());
  useEffect(() => () => control.current.abort(), []);
  useShortcuts([{ keys: "/", does: "Search this vector store", run: () => field.current?.focus() }]);
  const search = async (event: Event) => {
    event.preventDefault();
    if (!text.value.trim()) return;
    control.current.abort();
    control.current = new AbortController();
    const { signal } = control.current;
    const began = performance.now();
    const filters = filterOf(comparison.value);
    const body = { query: text.value, max_num_results: limit.value, ...(filters ? { filters } : {}) };
    isRunning.value = true;
    error.value = undefined;
    try {
      const hits = await searchStore(store.id, body, signal);
      found.value = { hits, ms: performance.now() - began };
      announce(`${plural(hits.length, "passage")} found.`);
    } catch (reason) {
      if (signal.aborted) return;
      error.value = reason;
      found.value = undefined;
    }
    isRunning.value = false;
  };
  const compare = (changes: Partial<Comparison>) => {
    comparison.value = { ...comparison.value, ...changes };
  };
  return (
    <section class="sheet" aria-label="Search">
      <form class="store-search" role="search" onSubmit={search}>
        <label class="search grow">
          <Icon name="search" />
          <input
            ref={field}
            type="search"
            aria-label="Search this vector store"
            placeholder="Search this vector store"
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        </label>
        <select
          class="input short"
          aria-label="Most passages"
          value={limit.value}
          onChange={(event) => {
            limit.value = Number(event.currentTarget.value);
          }}
        >
          {LIMITS.map((each) => (
            <option key={each} value={each}>
              {each} passages
            </option>
          ))}
        </select>
        <button type="submit" class="btn first" disabled={isRunning.value}>
          Search
        </button>
        <details class="search-filter">
          <summary>Filter by an attribute</summary>
          <div class="row tight">
            <input
              class="input"
              aria-label="Attribute"
              placeholder="Attribute"
              value={comparison.value.key}
              onInput={(event) => compare({ key: event.currentTarget.value })}
            />
            <select
              class="input short"
              aria-label="Comparison"
              value={comparison.value.type}
              onChange={(event) => compare({ type: event.currentTarget.value as Comparison["type"] })}
            >
              {Object.entries(COMPARISONS).map(([type, sign]) => (
                <option key={type} value={type}>
                  {sign}
                </option>
              ))}
            </select>
            <input
              class="input"
              aria-label="Value"
              placeholder="Value"
              value={comparison.value.value}
              onInput={(event) => compare({ value: event.currentTarget.value })}
            />
          </div>
        </details>
      </form>
      {error.value !== undefined && <ErrorNotice error={error.value} />}
      {found.value && (
        <>
          <p class="found muted small">
            {found.value.hits.length === 0 ? "No passage found" : plural(found.value.hits.length, "passage")},{" "}
            {duration(found.value.ms)}
          </p>
          <Hits hits={found.value.hits} />
        </>
      )}
    </section>
  );
}
