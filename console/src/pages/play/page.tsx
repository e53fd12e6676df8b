/** The playground: settings, conversation, and the code that is exactly what is sent. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { request } from "../../api/client.ts";
import { inputItems, requestBody, responseBody } from "../../api/responses.ts";
import type { Item, Json, List, Model } from "../../api/types.ts";
import { copy } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { Icon } from "../../parts/icons.tsx";
import { pendingCalls } from "../../parts/items/pending.ts";
import { useShortcuts } from "../../parts/keys.ts";
import { useLoad } from "../../parts/load.ts";
import { place as address, Link, query } from "../../parts/router.tsx";
import { Top } from "../../parts/top.tsx";
import { CodePanel } from "./code_panel.tsx";
import { Compose } from "./compose.tsx";
import { type Draft, draftFrom, EMPTY, inputOf, itemOf } from "./draft.ts";
import { Lane } from "./lane.ts";
import { LaneView } from "./lane_view.tsx";
import { bodyOf, mistakesIn, type Place, type Settings, settingsFrom, USUAL } from "./settings.ts";
import { SettingsPanel } from "./settings_panel.tsx";
import { fragmentOf, fromFragment } from "./share.ts";

/** What the parts of the page share. */
interface Bench {
  settings: Signal<Settings>;
  draft: Signal<Draft>;
  before: Signal<Item[]>;
  lanes: Signal<readonly Lane[]>;
}

/**
 * The page. `?from=ID` fills it in from a response, and `&run=1` sends it at once. `?after=ID` continues a response, and
 * answers the calls that it waits for; `?conversation=ID` continues a conversation; `?store=ID` searches a vector store.
 */
export function PlaygroundPage() {
  const bench: Bench = {
    settings: useSignal(USUAL),
    draft: useSignal(EMPTY),
    before: useSignal<Item[]>([]),
    lanes: useSignal<readonly Lane[]>([new Lane("")]),
  };
  const view = useSignal<"" | "shows-code" | "shows-settings">("");
  const models = useLoad((signal) => request<List<Model>>("/v1/models", { signal }), []);
  const from = query.value.get("from") ?? "";
  const origin = useOrigin(bench, from);
  useModels(bench, models.data?.data);
  const { settings, draft, lanes } = bench;
  const mistake = Object.values(mistakesIn(settings.value))[0];
  const isRunning = lanes.value.some((lane) => lane.state.value.isRunning);
  const isWaiting = lanes.value.some(({ state }) => pendingCalls(state.value.output, state.value.answers).length > 0);
  const first = lanes.value[0];
  const next = first && nextBody(bench, first);
  const toggle = (name: "shows-code" | "shows-settings") => () => {
    view.value = view.value === name ? "" : name;
  };
  useShortcuts([{ keys: "n", does: "Start a new conversation", run: () => restart(bench) }]);
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
        <button type="button" class="btn bare wide" onClick={() => restart(bench)}>
          <Icon name="again" />
          New conversation
        </button>
        <button type="button" class="btn wide" onClick={() => share(bench)}>
          <Icon name="copy" />
          Copy link
        </button>
      </Top>
      <div class={`play ${view.value}`}>
        <SettingsPanel settings={settings} models={models.data?.data ?? []} />
        <div class="stage">
          {models.error !== undefined && <ErrorNotice error={models.error} onRetry={models.reload} />}
          {origin.error !== undefined && <ErrorNotice error={origin.error} />}
          <div class="lanes">
            {lanes.value.map((lane, at) => (
              <LaneView
                key={`${at} ${lane.model}`}
                lane={lane}
                isAlone={lanes.value.length === 1}
                format={formatOf(settings.value)}
                onAnswered={(each) => void answer(bench, each)}
              />
            ))}
          </div>
          <Compose
            draft={draft}
            isRunning={isRunning}
            isWaiting={isWaiting}
            mistake={mistake}
            onSend={() => sendAll(bench)}
            onStop={() => {
              for (const lane of lanes.value) lane.stop();
            }}
          />
        </div>
        <CodePanel body={next ?? {}} lane={first} />
      </div>
    </>
  );
}

/** Fill the page in from a response or from the address's fragment, once. */
function useOrigin(bench: Bench, from: string): { error: unknown } {
  const error = useSignal<unknown>(undefined);
  const isRun = query.value.get("run") === "1";
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address fills the page in once.
  useEffect(() => {
    const shared = fromFragment(address.value.hash);
    if (shared) {
      bench.settings.value = shared.settings;
      bench.draft.value = { ...EMPTY, text: shared.text };
    }
    const conversation = query.value.get("conversation");
    if (conversation) setLanes(bench, { conversation });
    const store = query.value.get("store");
    if (store) {
      const tool = { type: "file_search", vector_store_ids: [store] };
      bench.settings.value = { ...bench.settings.value, tools: [{ isOn: true, tool }], results: true };
    }
    const after = query.value.get("after") ?? "";
    const fillIn = after ? continueAfter(bench, after) : from ? startFrom(bench, from, isRun) : undefined;
    fillIn?.catch((reason) => {
      error.value = reason;
    });
  }, [from]);
  return { error: error.value };
}

async function startFrom(bench: Bench, id: string, isRun: boolean): Promise<void> {
  take(bench, await requestBody(id));
  if (isRun && Object.keys(mistakesIn(bench.settings.value)).length === 0) sendAll(bench);
}

async function continueAfter(bench: Bench, id: string): Promise<void> {
  const [request, input, response] = await Promise.all([requestBody(id), inputItems(id), responseBody(id)]);
  take(bench, request);
  bench.draft.value = EMPTY;
  bench.before.value = [];
  bench.lanes.value[0]?.show(input, response);
}

function take(bench: Bench, body: Json): void {
  const found = settingsFrom(body);
  const { draft, before } = draftFrom(found.input);
  bench.settings.value = found.settings;
  bench.draft.value = draft;
  bench.before.value = before;
  setLanes(bench, found.place);
}

/** Choose the first model where none is chosen, and keep one lane for each model. */
function useModels({ settings, lanes }: Bench, models: readonly Model[] | undefined): void {
  const chosen = settings.value.models;
  const usual = models?.[0]?.id;
  useEffect(() => {
    const [first, ...others] = settings.peek().models;
    if (usual && !first && !settings.peek().promptId)
      settings.value = { ...settings.peek(), models: [usual, ...others] };
  }, [usual, settings]);
  const names = chosen.join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names are the models.
  useMemo(() => {
    const known = lanes.peek();
    lanes.value = chosen.map((name, at) => moved(known[at], name));
  }, [names]);
}

/** Return the lane for a model. An existing lane continues with another model if its conversation is stored. */
function moved(lane: Lane | undefined, model: string): Lane {
  if (lane?.model === model) return lane;
  const next = new Lane(model);
  if (lane) next.state.value = lane.state.value;
  return next;
}

function setLanes({ settings, lanes }: Bench, place: Place): void {
  lanes.value = settings.value.models.map((name) => {
    const lane = new Lane(name);
    lane.clear(place);
    return lane;
  });
}

function restart(bench: Bench): void {
  for (const lane of bench.lanes.value) lane.clear();
  bench.before.value = [];
  bench.draft.value = EMPTY;
}

/** Where the next request continues: after the last response where that is stored, else with all items before. */
function continued({ settings }: Bench, lane: Lane): { place: Place; items: Item[] } {
  const { responseId, items, output, place, status } = lane.state.value;
  if (place.conversation) return { place, items: [] };
  const isStored = settings.value.store && status !== "failed" && status !== "stopped";
  if (responseId && isStored) return { place: { previous_response_id: responseId }, items: [] };
  return { place, items: [...items, ...output] };
}

/** Return the body of the next request of a lane; without a draft that of its last one. */
function nextBody(bench: Bench, lane: Lane): Json {
  const { draft, before, settings } = bench;
  const { sent } = lane.state.value;
  if (sent && !draft.value.text && draft.value.files.length === 0) return sent;
  const { place, items } = continued(bench, lane);
  return bodyOf(settings.value, lane.model, inputOf(draft.value, [...before.value, ...items]), place);
}

function sendAll(bench: Bench): void {
  const { draft, before, lanes, settings } = bench;
  const isEmpty = !draft.value.text.trim() && draft.value.files.length === 0 && before.value.length === 0;
  const hasPrompt = settings.value.promptId !== "";
  const hasModels = lanes.value.every(({ model }) => model !== "");
  if (!hasPrompt && (isEmpty || !hasModels)) return;
  if (Object.keys(mistakesIn(settings.value)).length > 0) return;
  const written = draft.value.text || draft.value.files.length > 0 ? [itemOf(draft.value)] : [];
  const nextInput = [...before.value, ...written];
  const runs = lanes.value.map((lane) => ({ lane, body: nextBody(bench, lane) }));
  draft.value = EMPTY;
  before.value = [];
  for (const { lane, body } of runs) void lane.run(body, nextInput);
}

/** Send the answers to a lane's calls. */
function answer(bench: Bench, lane: Lane): Promise<void> {
  const { answers } = lane.state.value;
  const { place, items } = continued(bench, lane);
  return lane.run(bodyOf(bench.settings.value, lane.model, [...items, ...answers], place), answers);
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
