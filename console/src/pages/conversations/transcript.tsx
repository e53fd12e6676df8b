/** One conversation: its items with their responses, each of which may be deleted, and the way to continue it. */
import { useSignal } from "@preact/signals";
import { request } from "../../api/client.ts";
import { isOwn } from "../../api/files.ts";
import type { Item } from "../../api/types.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import { ErrorNotice } from "../../parts/errors.tsx";
import { Icon } from "../../parts/icons.tsx";
import { ItemView } from "../../parts/items/item.tsx";
import { StretchView } from "../../parts/items/stretch.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Link, navigate } from "../../parts/router.tsx";
import { useTitle } from "../../parts/top.tsx";
import { useItems } from "./items.ts";
import "./transcript.css";

/** The transcript; it opens at the newest item. */
export function Transcript({ id }: { id: string }) {
  const { stretch, tenant, responses, error, reload } = useItems(id);
  const doomed = useSignal<string | undefined>(undefined);
  const isMine = stretch !== undefined && isOwn({ tenant });
  useTitle(`Conversation ${id.slice(0, 18)}`);
  return (
    <>
      <header class="top">
        <h1 class="crumb">
          <Link to="conversations">Conversations</Link>
          <span aria-hidden="true">/</span>
          <span class="response-id" title={id}>
            {id}
          </span>
        </h1>
        <span class="push" />
        <Link to={`?q=${encodeURIComponent(`conversation:${id}`)}`} class="btn wide">
          Responses
        </Link>
        {isMine && (
          <button
            type="button"
            class="btn first"
            onClick={() => navigate(`play?conversation=${encodeURIComponent(id)}`)}
          >
            <Icon name="playground" />
            Continue
          </button>
        )}
      </header>
      <section class="sheet" aria-label="Items">
        {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
        <Loading data={stretch} error={error} pad />
        {stretch?.items.length === 0 && (
          <div class="empty">
            <h2>This conversation has no items</h2>
          </div>
        )}
        {stretch && stretch.items.length > 0 && (
          <div class="talk">
            <StretchView stretch={stretch} opensAtEnd>
              {(item) => (
                <TranscriptItem
                  item={item}
                  response={responses[item.id ?? ""]}
                  onDelete={isMine ? () => (doomed.value = item.id) : undefined}
                />
              )}
            </StretchView>
          </div>
        )}
      </section>
      {doomed.value && (
        <ConfirmDialog
          title="Delete this item?"
          action="Delete"
          onConfirm={() =>
            request(`/v1/conversations/${encodeURIComponent(id)}/items/${doomed.value}`, { method: "DELETE" }).then(
              reload,
            )
          }
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

interface ItemProps {
  item: Item;
  /** The ID of the response that added it; undefined where it was added directly, or the response has expired. */
  response: string | undefined;
  onDelete: (() => void) | undefined;
}

function TranscriptItem({ item, response, onDelete }: ItemProps) {
  return (
    <div class="transcript-item">
      <ItemView item={item} />
      <span class="transcript-tools">
        {response && (
          <Link
            to={`r/${response}`}
            class="btn bare icon"
            label={`Open the response of item ${item.id}`}
            title={response}
          >
            <Icon name="responses" />
          </Link>
        )}
        {onDelete && (
          <button type="button" class="btn bare icon" aria-label={`Delete item ${item.id}`} onClick={onDelete}>
            <Icon name="close" />
          </button>
        )}
      </span>
    </div>
  );
}
