/** The filter line as chips: what is chosen, and what could be. */

import { figures } from "../../api/responses.ts";
import type { Figures, Status } from "../../api/types.ts";
import { count } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { filterValue, parse, withFilter } from "./filter_line.ts";
import type { Window } from "./window.ts";

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
  const status = filterValue(line, "status");
  const filters = parse(line).filter(({ name }) => name && name !== "status");
  const unused = GROUPED.filter((name) => !filterValue(line, name));
  return (
    <div class="filters" role="group" aria-label="Filters">
      <div class="seg" role="group" aria-label="Status">
        {SEGMENTS.map((each) => (
          <button
            type="button"
            key={each.name}
            aria-pressed={status === each.status}
            onClick={() => onChange(withFilter(line, "status", each.status))}
          >
            {each.name}
            {found && !status && <span class="n">{count(numberOf(found, each.status))}</span>}
          </button>
        ))}
      </div>
      {filters.map(({ name, value }) => (
        <button
          type="button"
          key={`${name}:${value}`}
          class="chip on"
          aria-label={`Remove the filter ${name}: ${value}`}
          onClick={() => onChange(withFilter(line, name, ""))}
        >
          <span class="cut">
            {name}: {value}
          </span>
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
      label: `${name ?? value} · ${count(responses)}`,
      run: () => onChange(withFilter(line, by, value)),
    }));
  };
  return (
    <Menu class="chip" label={`Filter by ${by}`} actions={load}>
      <Icon name="plus" />
      {titled(by)}
    </Menu>
  );
}

/** Responses that run are counted now, the others over the chosen time. */
function numberOf({ totals, in_flight, queued }: Figures, statuses: string): number {
  if (statuses === RUNNING) return in_flight + queued;
  return statuses ? (totals.by_status[statuses as Status] ?? 0) : totals.responses;
}

function titled(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
