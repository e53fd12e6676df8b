/** One response: facts, timeline, conversation, events, bodies, notes and chain. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError } from "../../api/client.ts";
import { serverNow } from "../../api/clock.ts";
import { type Found, find, pathOf } from "../../api/find.ts";
import { inputItems, details as loadDetails, responseBody } from "../../api/responses.ts";
import type { Details, ResponseBody } from "../../api/types.ts";
import { copy } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { ItemView } from "../../parts/items/item.tsx";
import { pendingCalls } from "../../parts/items/pending.ts";
import { StretchView, useStretch } from "../../parts/items/stretch.tsx";
import { useShortcuts } from "../../parts/keys.ts";
import { type Loaded, useLoad } from "../../parts/load.ts";
import { Loading } from "../../parts/loading.tsx";
import { listPath } from "../../parts/paths.ts";
import { Link, navigate } from "../../parts/router.tsx";
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
import { useWhileRunning } from "./running.ts";
import { Steps } from "./steps.tsx";
import { TimelineTable } from "./timeline.tsx";
import { Wire } from "./wire.tsx";
import "./page.css";

type TabKey = "conversation" | "events";

/** The page of the response that the path names. */
export function ResponsePage({ rest: id }: PageProps) {
  return <OneResponse key={id} id={id} />; // so that nothing of another response stands under this ID meanwhile
}

function OneResponse({ id }: { id: string }) {
  useTitle(shortId(id));
  const loaded = useLoad((signal) => loadDetails(id, signal), [id]);
  const { data, error, reload } = loaded;
  useWhileRunning(loaded);
  const failure = useSignal<unknown>(undefined);
  const isUnknown = error instanceof ApiError && error.status === 404;
  return (
    <>
      <header class="top response-top">
        <h1 class="crumb">
          <Link to={listPath()}>Responses</Link>
          <span aria-hidden="true">/</span>
          {data && <StatusIcon status={data.summary.status} />}
          <span class="response-id" title={id}>
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
      {isUnknown ? <Unknown id={id} /> : error !== undefined && <ErrorNotice error={error} onRetry={reload} />}
      <Loading data={data} error={error} />
      {data && <Whole details={data} />}
    </>
  );
}

/** No response has this ID: show what it is the ID of, or where to look for it. */
function Unknown({ id }: { id: string }) {
  const { data: findings, error } = useLoad((signal) => find(id, signal), [id]);
  const found = findings?.data;
  const [first, ...others] = found ?? [];
  useEffect(() => {
    if (first && others.length === 0) navigate(pathOf(first), { replace: true });
  }, [first, others.length]);
  if (!found && error === undefined) return <p class="loading muted">Looking for what has this ID…</p>;
  if (first) return <Known found={[first, ...others]} />;
  return (
    <section class="sheet empty" role="alert">
      <h2>This response was not found</h2>
      <p>
        It was deleted, has expired, or belongs to a tenant that you cannot see. The ID may also be that of something
        else, such as a conversation or a file.
      </p>
      <div class="row">
        <Link to={`?q=${encodeURIComponent(id)}`} class="btn">
          Search for this ID
        </Link>
        <Link to="" class="btn">
          Open Responses
        </Link>
      </div>
    </section>
  );
}

/** Several objects have a part with the ID. */
function Known({ found }: { found: Found[] }) {
  return (
    <section class="sheet" aria-label="What has this ID">
      <div class="head">
        <h2>This ID leads to {plural(found.length, "object")}</h2>
      </div>
      <ul class="list-lines">
        {found.map((each) => (
          <li key={`${each.kind} ${each.id}`}>
            <Link to={pathOf(each)} class="grow">
              <span class="mono cut">{each.id}</span>
            </Link>
            <span class="muted small">{each.kind.replaceAll("_", " ")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Whole({ details }: { details: Details }) {
  const { body } = details;
  const now = serverNow();
  return (
    <>
      <FactsList details={details} now={now} />
      <TimelineTable details={details} now={now} />
      {details.has_steps && <Steps details={details} />}
      {body === "stored" ? (
        <Stored details={details} hasEvents={details.has_events} />
      ) : (
        <div class="split">
          {body === "failed_before" ? <Failed {...details} /> : <Unstored body={body} />}
          <div class="aside">
            <Notes notes={details.notes} />
            <Chain details={details} />
          </div>
        </div>
      )}
    </>
  );
}

/** Why it failed, and what is known of its input: nothing else was stored. */
function Failed({ summary: { status, error_message, error_code, input } }: Details) {
  return (
    <section class="sheet talk" aria-label="Content">
      <ErrorNotice
        error={error_message ?? error_code ?? `It was ${status}.`}
        next={`${status === "failed" ? "Failed" : "Ended"} before it was stored: facts, timeline and the start of its input are kept.`}
      />
      {input && <ItemView item={{ type: "message", role: "user", content: input }} />}
    </section>
  );
}

const UNSTORED = {
  not_stored: [
    "The text of this response is not stored",
    "It was created with store: false. Facts and timeline are kept, input and output are not.",
  ],
  pending: ["This response is in progress", "Its input and output are stored when it ends, and appear here then."],
  expired: [
    "The text of this response is not stored any more",
    "It expired or was deleted. Facts and timeline are kept.",
  ],
} as const;

function Unstored({ body }: { body: keyof typeof UNSTORED }) {
  const [title, text] = UNSTORED[body];
  return (
    <section class="sheet empty">
      <h2>{title}</h2>
      <p>{text}</p>
    </section>
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
      <Wire details={details} body={body.data} />
    </>
  );
}

function Conversation({ details, body }: { details: Details; body: Loaded<ResponseBody> }) {
  const { id } = details.summary;
  const input = useLoad((signal) => inputItems(id, signal), [id]);
  const earlier = details.parents.length;
  const last = details.parents.at(-1);
  const failure = input.error ?? body.error;
  const stretch = useStretch([...(input.data ?? []), ...(body.data?.output ?? [])]);
  return (
    <div class="talk">
      {last && (
        <div class="earlier">
          <Link to={`r/${last.id}`}>{plural(earlier, "earlier response")} in this chain</Link>
        </div>
      )}
      {failure !== undefined && <ErrorNotice error={failure} />}
      <Loading data={input.data && body.data} error={failure} />
      <StretchView stretch={stretch}>{(item) => <ItemView item={item} />}</StretchView>
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
