/** Conversations: the list, and one as a transcript. */
import type { Json } from "../../api/types.ts";
import { clock, exact, plural } from "../../parts/format.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { Link } from "../../parts/router.tsx";
import { Top } from "../../parts/top.tsx";
import type { PageProps } from "../routes.ts";
import { Transcript } from "./transcript.tsx";

/** A conversation of a list. */
interface Conversation {
  id: string;
  created_at: number;
  metadata: Json | null;
  tenant: string | null;
  items: number;
}

/** The list, or the conversation that the path names. */
export function ConversationsPage({ rest }: PageProps) {
  return rest ? <Transcript id={rest} /> : <ConversationList />;
}

function ConversationList() {
  const list = usePaged<Conversation>("/admin/v1/conversations");
  return (
    <>
      <Top title="Conversations" />
      <section class="sheet" aria-label="Conversations">
        {list.items.length > 0 && (
          <ul class="lines">
            {list.items.map((conversation) => (
              <li key={conversation.id}>
                <Link to={`conversations/${conversation.id}`} class="grow">
                  <span class="mono cut">{conversation.id}</span>
                  <span class="tags">
                    {Object.entries(conversation.metadata ?? {}).map(([name, value]) => (
                      <span key={name} class="tag">
                        {name}: {String(value)}
                      </span>
                    ))}
                  </span>
                </Link>
                <span class="muted small num">{plural(conversation.items, "item")}</span>
                {conversation.tenant && <span class="muted small">{conversation.tenant}</span>}
                <span class="muted small num" title={exact(conversation.created_at * 1000)}>
                  {clock(conversation.created_at * 1000)}
                </span>
              </li>
            ))}
          </ul>
        )}
        <ListEnd list={list}>
          <h2>No conversations yet</h2>
          <p>A conversation keeps the items of several responses. A client creates one:</p>
          <pre>client.conversations.create()</pre>
        </ListEnd>
      </section>
    </>
  );
}
