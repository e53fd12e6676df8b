/** The vector stores that a `file_search` tool searches. */
import { STORES, type VectorStore } from "../../api/files.ts";
import type { Json } from "../../api/types.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { visible } from "../../parts/raw.tsx";
import { countsOf, nameOf } from "../files/store_parts.tsx";

/** The choice; the tool's other parameters stay as they are. */
export function StoreChoice({ tool, onChange }: { tool: Json; onChange: (tool: Json) => void }) {
  const list = usePaged<VectorStore>(STORES);
  const chosen = Array.isArray(tool.vector_store_ids) ? (tool.vector_store_ids as string[]) : [];
  const choose = (id: string, isOn: boolean) =>
    onChange({ ...tool, vector_store_ids: isOn ? [...chosen, id] : chosen.filter((each) => each !== id) });
  return (
    <fieldset class="field">
      <legend>Vector stores</legend>
      {list.items.length > 0 && (
        <ul class="rows choices">
          {list.items.map((store) => (
            <li key={store.id}>
              <label>
                <input
                  type="checkbox"
                  checked={chosen.includes(store.id)}
                  onChange={(event) => choose(store.id, event.currentTarget.checked)}
                />
                <span class="cut">{visible(nameOf(store))}</span>
              </label>
              <small class="push">{countsOf(store)}</small>
            </li>
          ))}
        </ul>
      )}
      <ListEnd list={list}>
        <p>No vector stores yet. Create one on the page Files.</p>
      </ListEnd>
    </fieldset>
  );
}
