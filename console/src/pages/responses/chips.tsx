/** The filter line as chips: what is chosen, and what could be. */
import { figures } from "../../api/responses.ts";
import type { Figures, Status } from "../../api/types.ts";
import { filterValue, type Part, parse, withFilter, withoutPart } from "../../parts/filter_line.ts";
import { quoted } from "../../parts/filter_value.ts";
import { clock, count } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { useKeyNames } from "../../parts/key_names.ts";
import { Menu } from "../../parts/menu.tsx";
import { secondsOf, type Window } from "./window.ts";
import "./chips.css";

const RUNNING = "queued,in_progress";

const SEGMENTS = [
  { name: "All", status: "" },
  { name: "Running", status: RUNNING },
  { name: "Incomplete", status: "incomplete" },
  { name: "Failed", status: "failed" },
] as const;

const MOST_CHOICES = 12;
const GROUPED = ["model", "backend", "key"] as const;
const TYPED = ["tool", "error", "metadata."] as const;

interface Props {
  line: string;
  found: Figures | undefined;
  window: Window;
  onChange: (line: string) => void;
  onType: (prefix: string) => void;
}

/** Segments by status, a chip for each filter of the line, and chips that add one. */
export function Chips({ line, found, window, onChange, onType }: Props) {
  const named = useKeyNames(line);
  const status = filterValue(line, "status");
  const hasTime = Boolean(filterValue(line, "since") || filterValue(line, "until")); // else figures cover less than the list
  const filters = parse(line)
    .map((part, at) => ({ part, at, text: named(chipText(part)) }))
    .filter(({ part }) => isChip(part));
  const unused = GROUPED.filter((name) => !filterValue(line, name));
  return (
    <div class="filters" role="group" aria-label="Filters">
      <div class="segments" role="group" aria-label="Status">
        {SEGMENTS.map((each) => (
          <button
            type="button"
            key={each.name}
            aria-pressed={status === each.status}
            onClick={() => onChange(withFilter(line, "status", each.status))}
          >
            {each.name}
            {found && !status && (hasTime || each.status === RUNNING) && (
              <span class="count">{count(numberOf(found, each.status))}</span>
            )}
          </button>
        ))}
      </div>
      {filters.map(({ part, at, text }) => (
        <button
          type="button"
          key={`${at} ${part.text}`}
          class="chip on"
          aria-label={`Remove the filter ${text}`}
          onClick={() => onChange(withoutPart(line, at))}
        >
          <span class="cut">{text}</span>
          <Icon name="close" />
        </button>
      ))}
      {unused.map((name) => (
        <GroupChip key={name} by={name} line={line} window={window} onChange={onChange} />
      ))}
      {TYPED.map((name) => (
        <button type="button" key={name} class="chip" onClick={() => onType(name === "metadata." ? name : `${name}:`)}>
          <Icon name="plus" />
          {name === "metadata." ? "Metadata" : titled(name)}
        </button>
      ))}
    </div>
  );
}

interface GroupProps {
  by: (typeof GROUPED)[number];
  line: string;
  window: Window;
  onChange: (line: string) => void;
}

function GroupChip({ by, line, window, onChange }: GroupProps) {
  const load = async () => {
    const found = await figures({ ...window, step: window.until - window.since, by });
    return (found.groups ?? []).slice(0, MOST_CHOICES).map(({ value, name, responses }) => ({
      label: `${name || value || `No ${by}`} · ${count(responses)}`,
      run: () => onChange(withFilter(line, by, quoted(value))),
    }));
  };
  return (
    <Menu class="chip" label={`Filter by ${by}`} actions={load}>
      <Icon name="plus" />
      {titled(by)}
    </Menu>
  );
}

/** Segments show a status, and the menu shows the order; words stay in the field. */
function isChip({ kind, name, isNegated }: Part): boolean {
  return kind === "alternatives" || (kind === "filter" && (isNegated || !["status", "sort"].includes(name)));
}

/** Times are shown as everywhere on the page. */
function chipText({ kind, name, value, isNegated }: Part): string {
  if (kind === "alternatives") return value;
  const seconds = name === "since" || name === "until" ? secondsOf(value, Number.NaN) : Number.NaN;
  return `${isNegated ? "not " : ""}${name}: ${Number.isFinite(seconds) ? clock(seconds * 1000) : value}`;
}

/** Responses that run are counted now, the others over the chosen time. */
function numberOf({ totals, in_flight, queued }: Figures, statuses: string): number {
  if (statuses === RUNNING) return in_flight + queued;
  return statuses ? (totals.by_status[statuses as Status] ?? 0) : totals.responses;
}

function titled(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
