/** The code of the request, and the events, times and upstream request of the response. */
import { useSignal } from "@preact/signals";
import { apiBase } from "../../api/base.ts";
import { upstreamRequests } from "../../api/responses.ts";
import type { Json } from "../../api/types.ts";
import { colouredCode } from "../../parts/code.tsx";
import { copy } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { detailOf } from "../../parts/events.tsx";
import { count, duration } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useLoad } from "../../parts/load.ts";
import { RawJson, visible } from "../../parts/raw.tsx";
import { LANGUAGES, type Language, snippet } from "../../parts/snippets.ts";
import { Tabs } from "../../parts/tabs.tsx";
import type { Lane, LaneState } from "./lane.ts";

const MOST_DISPLAYED = 400; // events in the list

/** The panel; `body` is what the next message sends. */
export function CodePanel({ body, lane }: { body: Json; lane: Lane | undefined }) {
  const language = useSignal<Language>("Python");
  const tab = useSignal<"events" | "times" | "upstream">("events");
  const code = snippet(language.value, body, apiBase());
  const state = lane?.state.value;
  const tabs = [
    { key: "events" as const, name: "Events", count: state?.events.length || undefined },
    { key: "times" as const, name: "Times" },
    { key: "upstream" as const, name: "Upstream request" },
  ];
  return (
    <aside class="panel code" aria-label="Code and events">
      <div>
        <Tabs
          label="Language"
          tabs={LANGUAGES.map((name) => ({ key: name, name }))}
          chosen={language.value}
          onChoose={(key) => {
            language.value = key;
          }}
          aside={
            <button type="button" aria-label="Copy the code" onClick={() => copy(code, `${language.value} code`)}>
              <Icon name="copy" />
            </button>
          }
        >
          <pre class="source" tabIndex={0} aria-label="Code" role="region">
            {colouredCode(code)}
          </pre>
        </Tabs>
      </div>
      <div>
        <Tabs
          label="Response"
          tabs={tabs}
          chosen={tab.value}
          onChoose={(key) => {
            tab.value = key;
          }}
        >
          {state && <Figures state={state} />}
          {state && tab.value === "events" && <Events state={state} />}
          {state && tab.value === "times" && <Times state={state} />}
          {state && tab.value === "upstream" && <Upstream state={state} />}
        </Tabs>
      </div>
    </aside>
  );
}

function Figures({ state: { firstMs, totalMs, usage } }: { state: LaneState }) {
  const seconds = ((totalMs ?? 0) - (firstMs ?? 0)) / 1000;
  const speed = usage && firstMs !== null && seconds > 0.05 ? Math.round(usage.output_tokens / seconds) : undefined;
  return (
    <div class="tiny">
      <span>
        first token <b>{duration(firstMs)}</b>
      </span>
      <span>
        duration <b>{duration(totalMs)}</b>
      </span>
      {speed !== undefined && (
        <span>
          <b>{count(speed)}</b> tokens/s
        </span>
      )}
      {usage && (
        <>
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

function Events({ state }: { state: LaneState }) {
  if (state.events.length === 0) return <p class="pad muted small">Events of a streamed response appear here.</p>;
  return (
    <ol class="events">
      {state.events.slice(-MOST_DISPLAYED).map(({ at, event }, index) => (
        <li key={`${event.sequence_number} ${index}`}>
          <span class="muted">{String(event.sequence_number ?? "")}</span>
          <span class="muted">{duration(at)}</span>
          <span>{String(event.type).replace(/^response\./, "")}</span>
          <span class="detail">{visible(detailOf(event))}</span>
        </li>
      ))}
    </ol>
  );
}

function Times({ state }: { state: LaneState }) {
  const marks = state.events.filter(({ event }) =>
    /\.(created|added|done|completed|failed|incomplete)$/.test(String(event.type)),
  );
  return (
    <ol class="events">
      {marks.map(({ at, event }) => (
        <li key={String(event.sequence_number)}>
          <span class="muted" />
          <span>{duration(at)}</span>
          <span>{String(event.type).replace(/^response\./, "")}</span>
          <span class="detail">{visible(detailOf(event))}</span>
        </li>
      ))}
    </ol>
  );
}

function Upstream({ state: { responseId, isRunning } }: { state: LaneState }) {
  const { data, error } = useLoad(
    async (signal) => (responseId && !isRunning ? (await upstreamRequests(responseId, signal)).data : []),
    [responseId, isRunning],
  );
  if (error !== undefined) return <ErrorNotice error={error} />;
  const last = data?.at(-1);
  if (!last)
    return <p class="pad muted small">The request to the backend appears here once a stored response has ended.</p>;
  return <RawJson value={last.request} label="Upstream request" />;
}
