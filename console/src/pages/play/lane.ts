/** One conversation with one model: its turns, and where the next request continues. */
import { type Signal, signal } from "@preact/signals";
import type { Item } from "../../api/types.ts";
import { pendingCalls } from "../../parts/items/pending.ts";
import type { Place } from "./settings.ts";
import type { Turn } from "./turn.ts";

/** A lane. `place` is where its first request continues. */
export class Lane {
  readonly turns: Signal<readonly Turn[]>;

  constructor(
    readonly model: string,
    readonly place: Place = {},
    turns: readonly Turn[] = [],
  ) {
    this.turns = signal(turns);
  }

  /** The newest turn. */
  get last(): Turn | undefined {
    return this.turns.value.at(-1);
  }

  /** Whether a response is received. */
  get isRunning(): boolean {
    return this.last?.state.value.isRunning === true;
  }

  /** The turn with calls that wait for the reader: the newest one that did not fail. */
  get waiting(): Turn | undefined {
    const turn = this.turns.value.findLast((each) => !each.isFailed);
    if (!turn || this.isRunning) return undefined;
    const { output, answers } = turn.state.value;
    return pendingCalls(output, answers).length > 0 ? turn : undefined;
  }

  /** Whether messages can be changed that were answered: those of a stored conversation cannot. */
  get isEditable(): boolean {
    return this.place.conversation === undefined;
  }

  /** Add a turn, and receive its response. */
  run(turn: Turn): Promise<void> {
    this.last?.stopIfRunning();
    this.turns.value = [...this.turns.value, turn];
    return turn.run();
  }

  /** Forget a turn, and with `rest` those after it. A failed one was no part of the conversation. */
  remove(key: string, { rest = false } = {}): void {
    const turns = this.turns.value;
    const at = turns.findIndex((each) => each.key === key);
    const turn = turns[at];
    if (!turn) return;
    const after = rest && !turn.isFailed ? [] : turns.slice(at + 1);
    turn.stopIfRunning();
    if (!turn.isFailed) for (const each of after) each.change({ isChained: false });
    this.turns.value = [...turns.slice(0, at), ...after];
  }

  /** Return the turns that stand before a message that is replaced; all where none is. */
  before(key: string): readonly Turn[] {
    const turns = this.turns.value;
    const at = turns.findIndex((each) => each.key === key && !each.isFailed);
    return at < 0 ? turns : turns.slice(0, at);
  }

  /**
   * Return where the next request continues, and the items that it repeats: after the newest response that it can name,
   * otherwise with all that was said. What failed is omitted.
   */
  next(history: readonly Item[], turns: readonly Turn[] = this.turns.value): { place: Place; items: Item[] } {
    const answered = turns.filter((each) => !each.isFailed);
    if (this.place.conversation) return { place: this.place, items: answered.length === 0 ? [...history] : [] };
    const at = answered.findLastIndex((each) => each.isNameable);
    const items = answered.slice(at + 1).flatMap(({ input, state }) => [...input, ...state.value.output]);
    const id = answered[at]?.state.value.responseId;
    return id ? { place: { previous_response_id: id }, items } : { place: this.place, items: [...history, ...items] };
  }
}
