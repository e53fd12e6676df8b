/** The benches of this tab, one for each address of the playground. They outlive the page, a reload and a new sign-in. */
import { effect } from "@preact/signals";
import { identity } from "../../api/session.ts";
import { drop, onForgotten, store, stored } from "../../parts/tab_storage.ts";
import { Bench } from "./bench.ts";
import { restore, textOf } from "./work.ts";

const PAUSE = 300; // ms between a change and its storage
const MOST_BENCHES = 4; // the ones that were opened last
const LIST = "play";

const benches = new Map<string, Bench>();

onForgotten((reader) => {
  for (const [key, bench] of benches) {
    if (!key.startsWith(`${reader}\n`)) continue;
    bench.stop();
    benches.delete(key);
  }
});

/** Return the bench of an address for the reader who is signed in: the open one, the kept one, or a new one. */
export function benchOf(address: string): Bench {
  const reader = identity();
  const key = `${reader}\n${address}`;
  const known = benches.get(key);
  if (known) return known;
  const bench = new Bench();
  const text = stored(reader, nameOf(address));
  const isRestored = text !== undefined && restore(bench, text);
  bench.isFilled.value = isRestored || address === "";
  for (const turn of bench.lanes.value.flatMap((lane) => lane.turns.value)) {
    if (turn.state.value.isRunning) void turn.resume();
  }
  benches.set(key, bench);
  for (const [each, old] of benches) {
    if (benches.size > MOST_BENCHES && each !== key && !old.isRunning.value) benches.delete(each);
  }
  follow(bench, reader, address);
  return bench;
}

/** Forget the bench of an address, so that the page fills in a new one. */
export function dropBench(address: string): void {
  const key = `${identity()}\n${address}`;
  benches.get(key)?.stop();
  benches.delete(key);
  drop(identity(), nameOf(address));
}

function nameOf(address: string): string {
  return `${LIST} ${address}`;
}

/** Keep a bench whenever it changes, as long as it is not forgotten. */
function follow(bench: Bench, reader: string, address: string): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const save = () => {
    clearTimeout(timer);
    timer = undefined;
    if (benches.get(`${reader}\n${address}`) !== bench) return end();
    const { text, missing } = textOf(bench);
    const isStored = storeNewest(reader, address, text);
    bench.unsaved.value = isStored ? missing : "all of it: this browser has no storage for it, or no space";
  };
  const stop = effect(() => {
    if (!bench.isFilled.value) return;
    for (const each of [bench.settings, bench.draft, bench.edited, bench.history]) each.value;
    for (const lane of bench.lanes.value) for (const turn of lane.turns.value) turn.state.value;
    timer ??= setTimeout(save, PAUSE);
  });
  const end = () => {
    stop();
    removeEventListener("pagehide", save);
  };
  addEventListener("pagehide", save);
}

/** Keep a text, and only as many addresses as fit: the oldest are forgotten first. */
function storeNewest(reader: string, address: string, text: string): boolean {
  const others = (stored(reader, LIST) ?? "").split("\n").filter((each) => each !== address && each !== "-");
  for (const each of others.splice(MOST_BENCHES - 1)) drop(reader, nameOf(each));
  while (!store(reader, nameOf(address), text)) {
    const oldest = others.pop();
    if (oldest === undefined) return false;
    drop(reader, nameOf(oldest));
  }
  return store(reader, LIST, [address, ...others].join("\n"));
}
