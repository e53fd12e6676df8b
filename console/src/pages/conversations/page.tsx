/** Conversations: the list, and one as a transcript. */
import { session } from "../../api/session.ts";
import type { Json } from "../../api/types.ts";
import { clock, exact, money, plural } from "../../parts/format.ts";
import { ListEnd } from "../../parts/more.tsx";
import { usePaged } from "../../parts/paged.ts";
import { visible } from "../../parts/raw.tsx";
import { Link, query } from "../../parts/router.tsx";
import { seesTenants } from "../../parts/tenant.tsx";
import { Top } from "../../parts/top.tsx";
import { ViewsMenu } from "../../parts/views.tsx";
import type { PageProps } from "../routes.ts";
import "./page.css";
import { Transcript } from "./transcript.tsx";

/** A conversation of a list. */
interface Conversation {
  id: string;
  created_at: number;
  metadata: Json | null;
  tenant: string | null;
  items: number;
  /** The beginning of its first message of a user. */
  input: string | null;
  /** The model of its newest response. */
  model: string | null;
  /** Of the stored responses that its newest items belong to. */
  cost: number | null;
  responses: number;
  /** Whether older items were not looked at for cost and responses. */
  is_partial: boolean;
}

const MOST_PAIRS = 3; // of the metadata of a line

/** The list, or the conversation that the path names. */
export function ConversationsPage({ rest }: PageProps) {
  return rest ? <Transcript id={rest} /> : <ConversationList />;
}

function ConversationList() {
  const tenant = query.value.get("tenant") ?? "";
  const list = usePaged<Conversation>("/admin/v1/conversations", tenant ? { tenant } : {});
  return (
    <>
      <Top title="Conversations">
        <span class="push" />
        {tenant && (
          <Link class="btn" to="conversations">
            Show all tenants
          </Link>
        )}
        {seesTenants() && <ViewsMenu page="conversations" path="conversations" query={query.value.toString()} />}
      </Top>
      <section class="sheet" aria-label="Conversations">
        {list.items.length > 0 && (
          <ul class="list-lines">
            {list.items.map((conversation) => (
              <ConversationLine key={conversation.id} conversation={conversation} />
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

function ConversationLine({ conversation }: { conversation: Conversation }) {
  const { id, input, model, metadata, items, tenant, created_at: created } = conversation;
  const pairs = Object.entries(metadata ?? {});
  return (
    <li class="conversation-line">
      <Link to={`conversations/${id}`} class="grow">
        <span class={input ? "cut conversation-words" : "cut conversation-words muted"} dir="auto">
          {visible(input ?? "Without a text of a user")}
        </span>
        <span class="conversation-facts">
          <span class="mono small" title={id}>
            {id.length > 18 ? `${id.slice(0, 18)}…` : id}
          </span>
          {model && <span>{visible(model)}</span>}
          {pairs.slice(0, MOST_PAIRS).map(([name, value]) => (
            <span key={name} class="tag">
              {visible(`${name}: ${value}`)}
            </span>
          ))}
          {pairs.length > MOST_PAIRS && <span>+{pairs.length - MOST_PAIRS}</span>}
        </span>
      </Link>
      <span class="muted small num conversation-sums">
        {costOf(conversation) && <b>{costOf(conversation)}</b>}
        <span>{plural(items, "item")}</span>
      </span>
      {seesTenants() && tenant && (
        <Link
          to={`conversations?${new URLSearchParams({ tenant })}`}
          class="muted small"
          title={`Conversations of ${tenant}`}
        >
          {visible(tenant)}
        </Link>
      )}
      <span class="muted small num" title={exact(created * 1000)}>
        {clock(created * 1000)}
      </span>
    </li>
  );
}

/** Return the cost; of a long conversation that of its newest responses, which is the least that it cost. */
function costOf({ cost, is_partial }: Conversation): string {
  if (cost === null) return "";
  return `${is_partial ? "≥ " : ""}${money(cost, session().currency)}`;
}
