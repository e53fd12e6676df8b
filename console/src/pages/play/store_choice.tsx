/** The vector stores that a `file_search` tool searches. */
import { STORES, type VectorStore } from "../../api/files.ts";
import type { Json } from "../../api/types.ts";
import { ChoiceRows } from "../../parts/choice_rows.tsx";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { countsOf, nameOf } from "../files/store_parts.tsx";

/** The choice; the tool's other parameters stay as they are. */
export function StoreChoice({ tool, onChange }: { tool: Json; onChange: (tool: Json) => void }) {
  const list = usePaged<VectorStore>(STORES);
  const chosen = Array.isArray(tool.vector_store_ids) ? (tool.vector_store_ids as string[]) : [];
  return (
    <fieldset class="field">
      <legend>Vector stores</legend>
      <ChoiceRows
        rows={list.items.map((store) => ({ id: store.id, name: nameOf(store), note: countsOf(store) }))}
        chosen={chosen}
        onChoose={(ids) => onChange({ ...tool, vector_store_ids: ids })}
      />
      <ListEnd list={list}>
        <p>No vector stores yet. Create one on the page Files.</p>
      </ListEnd>
    </fieldset>
  );
}
