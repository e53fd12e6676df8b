/** One response: facts, timeline, conversation, events, bodies, notes and chain. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { inputItems, details as loadDetails, responseBody } from "../../api/responses.ts";
import type { Details, ResponseBody } from "../../api/types.ts";
import { copy } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { ItemView } from "../../parts/items/item.tsx";
import { pendingCalls } from "../../parts/items/pending.ts";
import { useShortcuts } from "../../parts/keys.ts";
import { type Loaded, useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { Link } from "../../parts/router.tsx";
import { isRunning, StatusIcon } from "../../parts/status.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useTitle } from "../../parts/top.tsx";
import type { PageProps } from "../routes.ts";
import { Actions } from "./actions.tsx";
import { Chain } from "./chain.tsx";
import { StoredEvents } from "./events.tsx";
import { FactsList } from "./facts.tsx";
import { Neighbours } from "./neighbours.tsx";
import { Notes } from "./notes.tsx";
import { TimelineTable } from "./timeline.tsx";
import { Wire } from "./wire.tsx";

const REFRESH = 1_500; // ms between looks at a response that runs

type TabKey = "conversation" | "events";

/** The page of the response that the path names. */
export function ResponsePage({ rest: id }: PageProps) {
  useTitle(shortId(id));
  const { data, error, reload } = useLoad((signal) => loadDetails(id, signal), [id]);
  const failure = useSignal<unknown>(undefined);
  const running = data !== undefined && isRunning(data.summary);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer starts the next wait.
  useEffect(() => {
    if (!running) return;
    const timer = setTimeout(reload, REFRESH);
    return () => clearTimeout(timer);
  }, [data, running]);
  return (
    <>
      <header class="top">
        <h1 class="crumb">
          <Link to="">Responses</Link>
          <span aria-hidden="true">/</span>
          {data && <StatusIcon status={data.summary.status} />}
          <span class="id" title={id}>
            {shortId(id)}
          </span>
        </h1>
        <button type="button" class="btn bare icon wide" aria-label="Copy ID" onClick={() => copy(id, "ID")}>
          <Icon name="copy" />
        </button>
        <span class="push" />
        <Neighbours id={id} onError={(reason) => (failure.value = reason)} />
        {data && <Actions details={data} onError={(reason) => (failure.value = reason)} onChange={reload} />}
      </header>
      {failure.value !== undefined && <ErrorNotice error={failure.value} />}
      {error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      <Loading data={data} error={error} />
      {data && <Whole details={data} />}
    </>
  );
}

function Whole({ details }: { details: Details }) {
  const { has_body, has_events } = details;
  const now = Date.now();
  return (
    <>
      <FactsList details={details} now={now} />
      <TimelineTable details={details} now={now} />
      {has_body ? (
        <Stored details={details} hasEvents={has_events} />
      ) : (
        <div class="split">
          {isRunning(details.summary) ? (
            <section class="sheet empty">
              <h2>This response is in progress</h2>
              <p>Its input and output are stored when it ends, and appear here then.</p>
            </section>
          ) : (
            <section class="sheet empty">
              <h2>The text of this response is not stored</h2>
              <p>It was created with store: false. Facts and timeline are kept, input and output are not.</p>
            </section>
          )}
          <div class="aside">
            <Notes notes={details.notes} />
            <Chain details={details} />
          </div>
        </div>
      )}
    </>
  );
}

function Stored({ details, hasEvents }: { details: Details; hasEvents: boolean }) {
  const { id, status } = details.summary;
  const tab = useSignal<TabKey>("conversation");
  const body = useLoad((signal) => responseBody(id, signal), [id, status]);
  const choose = (key: TabKey) => {
    tab.value = key;
  };
  useShortcuts([
    { keys: "e", does: "Show the events", run: () => choose(hasEvents ? "events" : "conversation") },
    { keys: "r", does: "Go to the raw bodies", run: () => document.getElementById("wire")?.focus() },
  ]);
  const tabs = [
    { key: "conversation" as const, name: "Conversation" },
    ...(hasEvents ? [{ key: "events" as const, name: "Events" }] : []),
  ];
  return (
    <>
      <div class="split">
        <section class="sheet" aria-label="Content">
          <Tabs label="Content" tabs={tabs} chosen={tab.value} onChoose={choose}>
            {tab.value === "conversation" && <Conversation details={details} body={body} />}
            {tab.value === "events" && <StoredEvents id={id} />}
          </Tabs>
        </section>
        <div class="aside">
          <Notes notes={details.notes} />
          <Chain details={details} />
        </div>
      </div>
      <Wire id={id} body={body.data} turn={status} />
    </>
  );
}

function Conversation({ details, body }: { details: Details; body: Loaded<ResponseBody> }) {
  const { id } = details.summary;
  const input = useLoad((signal) => inputItems(id, signal), [id]);
  const earlier = details.parents.length;
  const last = details.parents.at(-1);
  const failure = input.error ?? body.error;
  return (
    <div class="talk">
      {last && (
        <div class="earlier">
          <Link to={`r/${last.id}`}>{plural(earlier, "earlier response")} in this chain</Link>
        </div>
      )}
      {failure !== undefined && <ErrorNotice error={failure} />}
      <Loading data={input.data && body.data} error={failure} />
      {[...(input.data ?? []), ...(body.data?.output ?? [])].map((item, at) => (
        <ItemView key={`${at} ${item.id}`} item={item} />
      ))}
      {details.children.length === 0 && pendingCalls(body.data?.output ?? [], []).length > 0 && (
        <div class="notice warn">
          <p>This response waits for an answer to its calls.</p>
          <Link to={`play?after=${id}`} class="btn">
            Answer in the playground
          </Link>
        </div>
      )}
      {isRunning(details.summary) && (
        <p class="muted">
          Running <span class="caret" />
        </p>
      )}
    </div>
  );
}

function shortId(id: string): string {
  return id.length > 22 ? `${id.slice(0, 18)}…` : id;
}
