/** The field that filters the list and finds objects by their IDs. */
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { serverNow } from "../../api/clock.ts";
import { find, pathOf } from "../../api/find.ts";
import { count } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { announce } from "../../parts/live.tsx";
import { navigate } from "../../parts/router.tsx";
import { type Completion, useCompletion } from "./completion.ts";
import { idIn } from "./pasted_id.ts";
import { completed, isWhole, termAt } from "./terms.ts";
import { withOffsets } from "./window.ts";
import "./search.css";

const EXAMPLE = "model:qwen3* took:>10s, words or an ID";

interface Props {
  field: { current: HTMLInputElement | null };
  line: string;
  /** Whether the server rejected the line. */
  isInvalid: boolean;
  onChange: (line: string) => void;
}

/** The field; Enter applies what is typed, or opens the page of an ID. */
export function Search({ field, line, isInvalid, onChange }: Props) {
  // Before the field is displayed: an effect after that would replace what a quick reader has typed.
  useLayoutEffect(() => {
    if (field.current) field.current.value = line;
  }, [line, field]);
  const completion = useCompletion(field);
  const open = useFinder(onChange);
  const listId = useId();
  const submit = () => {
    completion.close();
    const typed = field.current?.value.trim() ?? "";
    const id = idIn(typed);
    if (id) open(id);
    else onChange(withOffsets(typed, serverNow() / 1000));
  };
  const choose = (at: number) => {
    const suggestion = completion.suggestions.value[at];
    if (!field.current || !suggestion) return;
    const { value, selectionStart } = field.current;
    const next = completed(value, termAt(value, selectionStart ?? value.length), suggestion.text);
    field.current.value = next.line;
    field.current.focus();
    field.current.setSelectionRange(next.caret, next.caret);
    if (isWhole(suggestion.text)) submit();
    else completion.update();
  };
  const isOpen = completion.suggestions.value.length > 0;
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
        field.current?.blur();
      }}
    >
      <Icon name="search" />
      <input
        ref={field}
        type="text"
        role="combobox"
        enterkeyhint="search"
        aria-label="Filter"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={isOpen ? listId : undefined}
        aria-activedescendant={completion.active.value < 0 ? undefined : `${listId}-${completion.active.value}`}
        aria-invalid={isInvalid}
        placeholder={EXAMPLE}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        onInput={completion.update}
        onBlur={completion.close}
        onKeyDown={(event) => {
          if (press(event, completion, choose)) event.preventDefault();
        }}
      />
      <kbd class="wide">/</kbd>
      {isOpen && <Suggestions id={listId} completion={completion} onChoose={choose} />}
    </form>
  );
}

/** Perform a key of the field; return whether it had a meaning other than the usual one. */
function press(
  event: KeyboardEvent,
  { suggestions, active, update, close, move }: Completion,
  choose: (at: number) => void,
) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const isOpen = suggestions.value.length > 0;
  if (step) isOpen ? move(step) : update();
  else if (event.key === "Escape") isOpen ? close() : (event.currentTarget as HTMLElement).blur();
  else if (event.key === "Enter" && active.value >= 0) choose(active.value);
  else return false;
  return true;
}

interface SuggestionsProps {
  id: string;
  completion: Completion;
  onChoose: (at: number) => void;
}

/** What completes the term; the focus stays in the field. */
function Suggestions({ id, completion: { suggestions, active }, onChoose }: SuggestionsProps) {
  const here = useRef<HTMLDivElement>(null);
  useEffect(() => here.current?.scrollIntoView({ block: "nearest" }));
  return (
    <div class="suggestions sheet" role="listbox" id={id} aria-label="Suggestions">
      {suggestions.value.map(({ text, count: number }, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
        <div
          key={text}
          ref={at === active.value ? here : null}
          id={`${id}-${at}`}
          role="option"
          tabIndex={-1}
          aria-selected={at === active.value}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(at)}
        >
          <span class="cut">{text}</span>
          {number !== null && <span class="count">{count(number)}</span>}
        </div>
      ))}
    </div>
  );
}

/** Return a function that opens the page of an ID; for an unknown one, the list says so. */
function useFinder(onUnknown: (id: string) => void): (id: string) => void {
  const finding = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => finding.current?.abort(), []);
  return (id) => {
    finding.current?.abort();
    const control = new AbortController();
    finding.current = control;
    announce("Looking for this ID.");
    find(id, control.signal).then(
      ({ data: [first] }) => (first ? navigate(pathOf(first)) : onUnknown(id)),
      () => control.signal.aborted || onUnknown(id),
    );
  };
}
