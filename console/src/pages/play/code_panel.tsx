/** The code of the request, and the events, times and upstream request of the response. */
import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { apiBase } from "../../api/base.ts";
import { upstreamRequests } from "../../api/responses.ts";
import type { Json } from "../../api/types.ts";
import { colouredCode } from "../../parts/code.tsx";
import { copy } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { count, duration, plural, speed } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { JsonPane } from "../../parts/json/pane.tsx";
import { useLoad } from "../../parts/load.ts";
import { LongText } from "../../parts/raw.tsx";
import { LANGUAGES, type Language, snippet } from "../../parts/snippets.ts";
import { Tabs } from "../../parts/tabs.tsx";
import { EventRows } from "./event_rows.tsx";
import { shortened } from "./shortened.ts";
import type { Turn, TurnState } from "./turn.ts";
import "./code_panel.css";

/** The panel; `body` is what the next message sends, and `turn` the newest one. */
export function CodePanel({ body, turn }: { body: ReadonlySignal<Json>; turn: Turn | undefined }) {
  const view = useSignal<View>("events");
  return (
    <aside class="panel code" aria-labelledby="code-and-events">
      <h2 class="visually-hidden" id="code-and-events">
        Code and events
      </h2>
      <div>
        <Code body={body.value} />
      </div>
      <div>
        <ResponsePanel key={turn?.key} turn={turn} view={view} />
      </div>
    </aside>
  );
}

function Code({ body }: { body: Json }) {
  const language = useSignal<Language>("Python");
  const chosen = language.value;
  const displayed = useMemo(() => shortened(body), [body]);
  const code = useMemo(() => snippet(chosen, displayed.body, apiBase()), [chosen, displayed]);
  return (
    <Tabs
      label="Language"
      tabs={LANGUAGES.map((name) => ({ key: name, name }))}
      chosen={chosen}
      onChoose={(key) => {
        language.value = key;
      }}
      aside={
        <button
          type="button"
          aria-label="Copy the code"
          onClick={() => copy(snippet(chosen, body, apiBase()), `${chosen} code`)}
        >
          <Icon name="copy" />
        </button>
      }
    >
      {displayed.shortenedTexts > 0 && (
        <p class="pad muted small">{plural(displayed.shortenedTexts, "long text")} shortened here. A copy has all.</p>
      )}
      <LongText text={code} nodes={colouredCode} class="source" label="Code" />
    </Tabs>
  );
}

type View = "events" | "times" | "upstream";

function ResponsePanel({ turn, view }: { turn: Turn | undefined; view: Signal<View> }) {
  const tabs = [
    { key: "events" as const, name: "Events", count: turn?.events.count.value || undefined },
    { key: "times" as const, name: "Times" },
    { key: "upstream" as const, name: "Upstream request" },
  ];
  return (
    <Tabs
      label="Response"
      tabs={tabs}
      chosen={view.value}
      onChoose={(key) => {
        view.value = key;
      }}
    >
      {turn && <Figures state={turn.state.value} />}
      {turn && view.value === "events" && <Events turn={turn} />}
      {turn && view.value === "times" && <EventRows key="times" log={turn.marks} label="Times" />}
      {turn && view.value === "upstream" && <Upstream state={turn.state.value} />}
    </Tabs>
  );
}

function Events({ turn }: { turn: Turn }) {
  return (
    <>
      {turn.events.count.value === 0 && <p class="pad muted small">Events of a streamed response appear here.</p>}
      <EventRows key="events" log={turn.events} label="Events" />
    </>
  );
}

function Figures({ state: { firstMs, totalMs, usage } }: { state: TurnState }) {
  const rate = usage && firstMs !== null ? speed(usage.output_tokens, (totalMs ?? 0) - firstMs) : undefined;
  return (
    <div class="request-facts">
      <span>
        first token <b>{duration(firstMs)}</b>
      </span>
      <span>
        duration <b>{duration(totalMs)}</b>
      </span>
      {usage && (
        <>
          {rate && <b>{rate}</b>}
          <span>
            in <b>{count(usage.input_tokens)}</b>
          </span>
          <span>
            out <b>{count(usage.output_tokens)}</b>
          </span>
        </>
      )}
    </div>
  );
}

function Upstream({ state: { responseId, isRunning } }: { state: TurnState }) {
  const { data, error } = useLoad(
    async (signal) => (responseId && !isRunning ? (await upstreamRequests(responseId, signal)).data : []),
    [responseId, isRunning],
  );
  if (error !== undefined) return <ErrorNotice error={error} />;
  const last = data?.at(-1);
  if (!last)
    return <p class="pad muted small">The request to the backend appears here once a stored response has ended.</p>;
  return <JsonPane title="Upstream request" note={last.backend} value={last.request} />;
}
