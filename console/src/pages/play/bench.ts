/** What the reader works on in the playground, and what can be done with it. */
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Item, Json, Model } from "../../api/types.ts";
import { type Draft, draftFrom, draftOf, EMPTY, hasGap, inputFrom, inputOf, isBlank, itemOf } from "./draft.ts";
import { Lane } from "./lane.ts";
import { bodyOf, mistakesIn, type Place, type Settings, settingsFrom, USUAL } from "./settings.ts";
import { Turn, turnOf } from "./turn.ts";

const GAP = "The browser did not keep a file or a long text of this conversation. Edit or remove its message.";

/** All that the page shows. */
export class Bench {
  readonly settings: Signal<Settings> = signal(USUAL);
  readonly draft: Signal<Draft> = signal(EMPTY);
  /** Items of a fork before its last message. */
  readonly history: Signal<readonly Item[]> = signal([]);
  readonly lanes: Signal<readonly Lane[]> = signal([new Lane("")]);
  /** The key of the turn that the draft replaces. */
  readonly edited: Signal<string> = signal("");
  /** What the browser does not keep, in words. */
  readonly unsaved: Signal<string> = signal("");
  /** Whether it has what the address names. */
  readonly isFilled: Signal<boolean> = signal(false);

  /** The body of the first lane's next request; without a draft that of its newest one. */
  readonly next: ReadonlySignal<Json> = computed(() => {
    const lane = this.lanes.value[0];
    if (!lane) return {};
    const sent = lane.last?.body;
    return sent && isBlank(this.draft.value) ? sent : this.nextBody(lane);
  });

  /** Whether a lane receives a response. */
  readonly isRunning: ReadonlySignal<boolean> = computed(() => this.lanes.value.some((lane) => lane.isRunning));

  /** Whether calls wait for the reader. */
  readonly isWaiting: ReadonlySignal<boolean> = computed(() => this.lanes.value.some((lane) => lane.waiting));

  /** Why the next message cannot be sent, in words; empty where it can. */
  readonly mistake: ReadonlySignal<string> = computed(() => {
    const [mistake] = Object.values(mistakesIn(this.settings.value));
    if (!mistake && !this.hasModels.value && !isBlank(this.draft.value)) return "Choose a model.";
    return mistake ?? (hasGap(this.next.value.input) ? GAP : "");
  });

  /** Whether each lane has a model, or the prompt may have one. */
  readonly hasModels: ReadonlySignal<boolean> = computed(() => {
    return this.settings.value.promptId !== "" || this.lanes.value.every(({ model }) => model !== "");
  });

  /** Send the draft in every lane; an edited message is replaced, with all that followed it. */
  async send(): Promise<void> {
    const { draft, lanes, settings, edited, history } = this;
    const isFirst = lanes.value.every((lane) => lane.turns.value.length === 0);
    const isEmpty = isBlank(draft.value) && !(isFirst && history.value.length > 0);
    if (!settings.value.promptId && isEmpty) return;
    if (this.mistake.value || !this.hasModels.value) return;
    const written = draft.value;
    for (const lane of lanes.value) if (edited.value) lane.remove(edited.value, { rest: true });
    const key = crypto.randomUUID();
    const input = isBlank(written) ? [] : [itemOf(written)];
    const turns = lanes.value.map((lane) => ({ lane, turn: this.turn(key, input, this.nextBody(lane)) }));
    draft.value = EMPTY;
    edited.value = "";
    await Promise.all(turns.map(({ lane, turn }) => lane.run(turn)));
    this.returnDraft(turns, written);
  }

  /** Put a message back that no lane could send, unless the reader writes another one. */
  private returnDraft(turns: readonly { lane: Lane; turn: Turn }[], written: Draft): void {
    const isLost = turns.every(({ lane, turn }) => turn.isFailed && lane.last === turn);
    if (!isLost || !isBlank(this.draft.value) || isBlank(written)) return;
    this.draft.value = written;
    this.edited.value = turns[0]?.turn.key ?? "";
  }

  /** Send the answers to the calls of a lane's turn. */
  answer(lane: Lane, turn: Turn): void {
    this.runAgain(lane, crypto.randomUUID(), turn.state.value.answers);
  }

  /** Send what a failed turn said once more. */
  retry(lane: Lane, turn: Turn): void {
    if (this.mistake.value) return;
    if (this.edited.value === turn.key) this.leave();
    lane.remove(turn.key);
    this.runAgain(lane, turn.key, turn.input);
  }

  private runAgain(lane: Lane, key: string, input: readonly Item[]): void {
    const { place, items } = lane.next(this.history.value);
    void lane.run(
      this.turn(key, input, bodyOf(this.settings.value, lane.model, inputFrom([...items, ...input]), place)),
    );
  }

  /** Take the message of a turn into the field; sending replaces it. */
  edit(turn: Turn): void {
    const [item] = turn.input;
    if (!item) return;
    this.draft.value = draftOf(item);
    this.edited.value = turn.key;
  }

  /** Leave the edited message as it is. */
  leave(): void {
    this.draft.value = EMPTY;
    this.edited.value = "";
  }

  /** Forget a turn of a lane. */
  remove(lane: Lane, turn: Turn): void {
    if (this.edited.value === turn.key) this.leave();
    const before = lane.turns.value[lane.turns.value.indexOf(turn) - 1];
    lane.remove(turn.key);
    before?.change({ answers: [] });
  }

  /** Stop all lanes. */
  stop(): void {
    for (const lane of this.lanes.value) lane.last?.stopIfRunning();
  }

  /** Begin a new conversation with the same settings. */
  restart(): void {
    this.place({});
    this.history.value = [];
    this.leave();
  }

  /** Begin at a place, in every lane. */
  place(place: Place): void {
    this.stop();
    this.lanes.value = this.settings.value.models.map((name) => new Lane(name, place));
  }

  /** Fill in a request, such as that of a response. */
  fillIn(body: Json): void {
    const found = settingsFrom(body);
    const { draft, before } = draftFrom(found.input);
    this.settings.value = found.settings;
    this.draft.value = draft;
    this.history.value = before;
    this.place(found.place);
  }

  /** Show a response that exists already, so that the next request continues it. */
  continueAfter(body: Json, input: readonly Item[], response: Json): void {
    this.fillIn(body);
    this.leave();
    this.history.value = [];
    this.lanes.value = this.lanes.value.map(({ model, place }) => {
      return new Lane(model, place, [turnOf(crypto.randomUUID(), input, response)]);
    });
  }

  /** Keep one lane for each model; an existing lane continues with another model. */
  useModels(names: readonly string[]): void {
    const known = this.lanes.peek();
    this.lanes.value = names.map((name, at) => {
      const lane = known[at];
      if (lane?.model === name) return lane;
      return new Lane(name, (lane ?? known[0])?.place, lane?.turns.peek());
    });
  }

  /** Choose the first model where none is chosen. */
  chooseModel(models: readonly Model[]): void {
    const { settings } = this;
    const [first, ...others] = settings.peek().models;
    const usual = models[0]?.id;
    if (usual && !first && !settings.peek().promptId)
      settings.value = { ...settings.peek(), models: [usual, ...others] };
  }

  private turn(key: string, input: readonly Item[], body: Json): Turn {
    const isStored = body.store !== false;
    return new Turn(key, input, { isStored, isBackground: !!body.background, isStreamed: !!body.stream }, body);
  }

  private nextBody(lane: Lane): Json {
    const { place, items } = lane.next(this.history.value, lane.before(this.edited.value));
    return bodyOf(this.settings.value, lane.model, inputOf(this.draft.value, items), place);
  }
}
