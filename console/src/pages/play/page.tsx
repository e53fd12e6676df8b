/** The playground: settings, conversation, and the code that is exactly what is sent. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ApiError, request } from "../../api/client.ts";
import { inputItems, requestBody, responseBody } from "../../api/responses.ts";
import type { Json, List, Model } from "../../api/types.ts";
import { copy } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useShortcuts } from "../../parts/keys.ts";
import { useLoad } from "../../parts/load.ts";
import { comparePath } from "../../parts/paths.ts";
import { place as address, Link, query, setQuery } from "../../parts/router.tsx";
import { Top } from "../../parts/top.tsx";
import type { Bench } from "./bench.ts";
import { benchOf, dropBench } from "./benches.ts";
import { CodePanel } from "./code_panel.tsx";
import { Compose } from "./compose.tsx";
import { EMPTY } from "./draft.ts";
import type { Lane } from "./lane.ts";
import { LaneView } from "./lane_view.tsx";
import { bodyOf, type Settings } from "./settings.ts";
import { SettingsPanel } from "./settings_panel.tsx";
import { fragmentOf, fromFragment } from "./share.ts";
import "./page.css";

/**
 * The page. `?from=ID` fills it in from a response, and `&run=1` sends it at once. `?after=ID` continues a response, and
 * answers the calls that it waits for; `?conversation=ID` continues a conversation; `?store=ID` searches a vector store.
 */
export function PlaygroundPage() {
  const own = ownAddress();
  const round = useSignal(0);
  const isRun = query.value.get("run") === "1";
  // biome-ignore lint/correctness/useExhaustiveDependencies: another round begins with another bench.
  const bench = useMemo(() => {
    if (isRun) dropBench(own);
    return benchOf(own);
  }, [own, round.value]);
  const view = useSignal<"" | "shows-code" | "shows-settings">("");
  const models = useLoad((signal) => request<List<Model>>("/v1/models", { signal }), []);
  const origin = useOrigin(bench, isRun);
  useModels(bench, models.data?.data);
  const isUnknown = origin.error instanceof ApiError && origin.error.status === 404;
  const from = (!isUnknown && query.value.get("from")) || "";
  const lanes = bench.lanes.value;
  const format = useMemo(() => formatOf(bench.settings.value), [bench.settings.value]);
  const toggle = (name: "shows-code" | "shows-settings") => () => {
    view.value = view.value === name ? "" : name;
  };
  useShortcuts([{ keys: "n", does: "Start a new conversation", run: () => bench.restart() }]);
  return (
    <>
      <Top title="Playground">
        {from && (
          <Link to={`r/${from}`} class="tag accent cut">
            fork of {from.slice(0, 16)}…
          </Link>
        )}
        <span class="push" />
        <button type="button" class="btn settings-toggle" onClick={toggle("shows-settings")}>
          Settings
        </button>
        <button type="button" class="btn code-toggle" onClick={toggle("shows-code")}>
          Code
        </button>
        {from && (
          <button
            type="button"
            class="btn bare wide"
            title="Replace what you wrote with the request of the response"
            onClick={() => {
              dropBench(own);
              round.value++;
            }}
          >
            Fill in again
          </button>
        )}
        <button type="button" class="btn bare wide" onClick={() => bench.restart()}>
          <Icon name="again" />
          New conversation
        </button>
        <button type="button" class="btn wide" onClick={() => share(bench)}>
          <Icon name="copy" />
          Copy link
        </button>
      </Top>
      <div class={`play ${view.value}`}>
        <SettingsPanel settings={bench.settings} models={models.data?.data ?? []} />
        <div class="stage">
          {models.error !== undefined && <ErrorNotice error={models.error} onRetry={models.reload} />}
          {origin.error !== undefined && (
            <ErrorNotice
              error={origin.error}
              {...(isUnknown ? { next: "Nothing was filled in." } : { onRetry: origin.retry })}
            />
          )}
          <CompareLink lanes={lanes} />
          <div class="lanes">
            {lanes.map((lane, at) => (
              <LaneView
                key={`${at} ${lane.model}`}
                bench={bench}
                lane={lane}
                isAlone={lanes.length === 1}
                format={format}
              />
            ))}
          </div>
          <Compose bench={bench} isDisabled={!bench.isFilled.value && origin.error === undefined} />
        </div>
        <CodePanel body={bench.next} turn={lanes[0]?.last} />
      </div>
    </>
  );
}

/** The address of the work: what it continues, without what is done once. */
function ownAddress(): string {
  const parts = new URLSearchParams(address.value.search);
  parts.delete("run");
  return parts.toString() + address.value.hash;
}

/** A link to the comparison of what the first two lanes answered. */
function CompareLink({ lanes }: { lanes: readonly Lane[] }) {
  const [a, b] = lanes.slice(0, 2).map((lane) => {
    const state = lane.last?.state.value;
    return state && !state.isRunning ? state.responseId : "";
  });
  if (!a || !b) return null;
  return (
    <p class="compare-lanes">
      <Link to={comparePath(a, b)} class="link">
        Compare {lanes.length > 2 ? "the first two responses" : "these responses"}
      </Link>
    </p>
  );
}

/** Fill a new bench in with what the address names, once. */
function useOrigin(bench: Bench, isRun: boolean): { error: unknown; retry: () => void } {
  const error = useSignal<unknown>(undefined);
  const fill = () => {
    error.value = undefined;
    if (bench.isFilled.value) return;
    fillIn(bench).then(
      () => {
        if (bench.isFilled.value) return; // by a page that was left while it loaded
        bench.isFilled.value = true;
        if (!isRun) return;
        setQuery({ run: "" }); // a reload does not send it again
        void bench.send();
      },
      (reason) => {
        error.value = reason;
      },
    );
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: each bench is filled in once.
  useEffect(fill, [bench]);
  return { error: error.value, retry: fill };
}

async function fillIn(bench: Bench): Promise<void> {
  const shared = fromFragment(address.value.hash);
  const [from, after, conversation, store] = ["from", "after", "conversation", "store"].map((name) =>
    query.value.get(name),
  );
  if (shared) {
    bench.settings.value = shared.settings;
    bench.draft.value = { ...EMPTY, text: shared.text };
  }
  if (conversation) bench.place({ conversation });
  if (store) {
    const tool = { type: "file_search", vector_store_ids: [store] };
    bench.settings.value = { ...bench.settings.value, tools: [{ isOn: true, tool }], results: true };
  }
  if (after) {
    const loaded = await Promise.all([requestBody(after), inputItems(after), responseBody(after)]);
    if (!bench.isFilled.value) bench.continueAfter(...loaded);
  } else if (from) {
    const body = await requestBody(from);
    if (!bench.isFilled.value) bench.fillIn(body);
  }
}

/** Choose the first model where none is chosen, and keep one lane for each model. */
function useModels(bench: Bench, models: readonly Model[] | undefined): void {
  const chosen = bench.settings.value.models;
  useEffect(() => {
    if (models) bench.chooseModel(models);
  }, [bench, models]);
  const names = chosen.join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names are the models.
  useMemo(() => bench.useModels(chosen), [bench, names]);
}

function share({ settings, draft }: Bench): void {
  const url = new URL(location.href);
  url.search = "";
  url.hash = fragmentOf(settings.value, draft.value.text);
  void copy(url.href, "Link");
}

function formatOf(settings: Settings): Json | undefined {
  const text = bodyOf(settings, "", "", {}).text as { format?: Json } | undefined;
  return text?.format;
}
