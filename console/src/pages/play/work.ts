/** The reader's work as a text that the browser keeps: settings, draft and conversations, without secrets. */
import { ApiError } from "../../api/client.ts";
import type { Item, Json } from "../../api/types.ts";
import { bytes } from "../../parts/format.ts";
import type { Bench } from "./bench.ts";
import { type Draft, NOT_STORED } from "./draft.ts";
import { Lane } from "./lane.ts";
import { type Place, type Settings, withoutSecrets } from "./settings.ts";
import { checked } from "./share.ts";
import { type Manner, Turn, type TurnState } from "./turn.ts";

const VERSION = 1;
const MOST = 2_000_000; // characters of a work
const LONGEST = [1_000_000, 100_000]; // characters of one text or file: the first with which the work fits

interface StoredTurn {
  key: string;
  input: readonly Item[];
  manner: Manner;
  known: Partial<TurnState>;
}

interface Work {
  version: number;
  settings: Settings;
  draft: Draft;
  edited: string;
  history: readonly Item[];
  lanes: readonly { model: string; place: Place; turns: readonly StoredTurn[] }[];
}

/** Return the text of a work, and what it misses, in words. */
export function textOf(bench: Bench): { text: string; missing: string } {
  const whole = workOf(bench);
  for (const longest of LONGEST) {
    const { text, missing } = shortened(whole, longest);
    if (text.length <= MOST) return { text, missing };
  }
  const lanes = whole.lanes.map((lane) => ({ ...lane, turns: [] }));
  const { text } = shortened({ ...whole, lanes, history: [] }, LONGEST[1] ?? 0);
  return { text: text.length <= MOST ? text : "", missing: `the conversation, which has more than ${bytes(MOST)}` };
}

/** Fill a bench in from a text. Returns whether the text is a work; any other one changes nothing. */
export function restore(bench: Bench, text: string): boolean {
  try {
    const work = JSON.parse(text) as Work;
    if (work.version !== VERSION) return false;
    const lanes = work.lanes.map(({ model, place, turns }) => new Lane(model, place, turns.map(turnFrom)));
    bench.settings.value = checked(work.settings as unknown as Json);
    bench.draft.value = work.draft;
    bench.edited.value = work.edited;
    bench.history.value = work.history;
    bench.lanes.value = lanes;
    return true;
  } catch {
    return false;
  }
}

function workOf({ settings, draft, edited, history, lanes }: Bench): Work {
  return {
    version: VERSION,
    settings: withoutSecrets(settings.value),
    draft: draft.value,
    edited: edited.value,
    history: history.value,
    lanes: lanes.value.map(({ model, place, turns }) => ({ model, place, turns: turns.value.map(storedTurn) })),
  };
}

function storedTurn({ key, input, manner, state }: Turn): StoredTurn {
  return { key, input, manner, known: state.value };
}

/** Errors become objects without a class, so they become errors again. */
function turnFrom({ key, input, manner, known }: StoredTurn): Turn {
  const { status, message, code, requestId } = (known.error ?? {}) as ApiError;
  const error = known.error ? new ApiError(status, message, code, null, requestId) : undefined;
  return new Turn(key, input, manner, undefined, { ...known, error });
}

/** Return the work as a text, with a mark in place of each text that is too long, and without such files of the draft. */
function shortened(work: Work, longest: number): { text: string; missing: string } {
  const isLong = (value: unknown) => typeof value === "string" && value.length > longest;
  const left = work.draft.files.filter(({ url }) => isLong(url));
  const draft = { ...work.draft, files: work.draft.files.filter((each) => !left.includes(each)) };
  let count = 0;
  const text = JSON.stringify({ ...work, draft }, (_, value) => {
    if (value instanceof Error) return { ...value, message: value.message };
    if (!isLong(value)) return value;
    count++;
    return NOT_STORED;
  });
  const names = left.map(({ name, size }) => `${name} (${bytes(size)})`);
  const others = count > 0 ? [`files and texts of more than ${bytes(longest)} in the conversation`] : [];
  return { text, missing: [...names, ...others].join(", ") };
}
