/** One conversation: its items, each of which may be deleted, and the way to continue it. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import type { Item } from "../../api/types.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { Icon } from "../../parts/icons.tsx";
import { ItemView } from "../../parts/items/item.tsx";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { Link, navigate } from "../../parts/router.tsx";
import { useTitle } from "../../parts/top.tsx";

/** The transcript, oldest item first. */
export function Transcript({ id }: { id: string }) {
  const path = `/v1/conversations/${encodeURIComponent(id)}/items`;
  const list = usePaged<Item & { id: string }>(path, { order: "asc" });
  const doomed = useSignal<string | undefined>(undefined);
  useTitle(`Conversation ${id.slice(0, 18)}`);
  return (
    <>
      <header class="top">
        <h1 class="crumb">
          <Link to="conversations">Conversations</Link>
          <span aria-hidden="true">/</span>
          <span class="id" title={id}>
            {id}
          </span>
        </h1>
        <span class="push" />
        <Link to={`?q=${encodeURIComponent(`conversation:${id}`)}`} class="btn wide">
          Responses
        </Link>
        <button type="button" class="btn first" onClick={() => navigate(`play?conversation=${encodeURIComponent(id)}`)}>
          <Icon name="playground" />
          Continue
        </button>
      </header>
      <section class="sheet" aria-label="Items">
        <div class="talk">
          {list.items.map((item) => (
            <div key={item.id} class="kept-item">
              <ItemView item={item} />
              <button
                type="button"
                class="btn bare icon"
                aria-label={`Delete item ${item.id}`}
                onClick={() => {
                  doomed.value = item.id;
                }}
              >
                <Icon name="close" />
              </button>
            </div>
          ))}
        </div>
        <ListEnd list={list}>
          <h2>This conversation has no items</h2>
        </ListEnd>
      </section>
      {doomed.value && (
        <ConfirmDialog
          title="Delete this item?"
          action="Delete"
          onConfirm={() => request(`${path}/${doomed.value}`, { method: "DELETE" }).then(list.reload)}
          onClose={() => {
            doomed.value = undefined;
          }}
        >
          The model no longer receives it when the conversation continues. Responses keep their own copy.
        </ConfirmDialog>
      )}
    </>
  );
}
