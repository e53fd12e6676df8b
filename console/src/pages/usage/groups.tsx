/** The sums of each group and each step; every row leads to its responses. */
import { session } from "../../api/session.ts";
import type { Figures, Sums } from "../../api/types.ts";
import { visible } from "../../parts/raw.tsx";
import { Link } from "../../parts/router.tsx";
import { ListTable } from "../../parts/table.tsx";
import { Cells, COLUMNS } from "./columns.tsx";
import {
  type Budget,
  type By,
  costOf,
  DAY,
  filterOf,
  type Measure,
  nameOf,
  pathTo,
  rangeOf,
  rankOf,
  stepText,
  zoneOf,
} from "./data.ts";

interface Props {
  q: string;
  found: Figures;
  by: By;
  measure: Measure;
}

interface GroupsProps extends Props {
  budgets: readonly Budget[];
  /** The sums of groups in the time before. */
  before: ReadonlyMap<string, Sums> | undefined;
  /** The address of this page, with other parts of its query. */
  pathWith: (changes: Record<string, string>) => string;
}

/** The table: the most expensive group is first, or the slowest one. */
export function Groups({ q, found, by, measure, budgets, before, pathWith }: GroupsProps) {
  const groups = [...(found.groups ?? [])].sort((a, b) => rankOf(b, measure) - rankOf(a, measure));
  if (groups.length === 0) return null;
  const title = by.charAt(0).toUpperCase() + by.slice(1);
  const hasBudgets = by === "key" && measure !== "speed" && budgets.length > 0;
  const parts = by === "model" ? "key" : "model";
  const shared = { measure, all: found.totals };
  return (
    <ListTable
      label={`Usage by ${by}`}
      caption={`Usage by ${by}`}
      columns={[title, ...COLUMNS[measure].map(({ name }) => name), ...(hasBudgets ? ["Budget"] : [])]}
      classes={{ [title]: "", Budget: "" }}
      usual="num"
      hasActions
      asCards
    >
      {groups.map((group) => {
        const name = visible(nameOf(by, group.value, group.name));
        const filter = [q, filterOf(by, group.value)].filter(Boolean).join(" ");
        return (
          <tr key={group.value}>
            <th scope="row" class="row-name">
              <Link to={pathTo({ ...found, q, by, values: [group.value] })}>{name}</Link>
            </th>
            <Cells sums={group} before={before?.get(group.value)} {...shared} />
            {hasBudgets && (
              <td data-label="Budget">
                <Spent budgets={budgets.filter(({ key }) => key === group.value)} />
              </td>
            )}
            <td class="actions">
              <Link to={pathWith({ q: filter, by: parts })}>
                by {parts}
                <span class="visually-hidden">: {name}</span>
              </Link>
            </td>
          </tr>
        );
      })}
      {found.rest && (
        <tr>
          <th scope="row">Others</th>
          <Cells sums={found.rest} {...shared} />
          {hasBudgets && <td data-label="Budget">—</td>}
          <td class="actions" />
        </tr>
      )}
    </ListTable>
  );
}

/** The days or hours with responses as a table, the newest first. */
export function Steps({ q, found, measure }: Omit<Props, "by">) {
  const title = `${found.step === DAY ? "Day" : "Hour"} (${zoneOf(found.step)})`;
  const steps = [...found.buckets].reverse();
  return (
    <details class="usage-by-day">
      <summary>{found.step === DAY ? "Days as a table" : "Hours as a table"}</summary>
      <ListTable
        label="Usage over time"
        caption={`Usage over time, in ${zoneOf(found.step)}`}
        columns={[title, ...COLUMNS[measure].map(({ name }) => name)]}
        classes={{ [title]: "" }}
        usual="num"
        asCards
      >
        {steps.map((each) => (
          <tr key={each.time}>
            <th scope="row" class="row-name">
              <Link to={pathTo({ q, ...rangeOf(found, each.time) })}>{stepText(each.time, found.step)}</Link>
            </th>
            <Cells sums={each} measure={measure} all={found.totals} />
          </tr>
        ))}
      </ListTable>
    </details>
  );
}

/** What is spent of budgets. */
function Spent({ budgets }: { budgets: readonly Budget[] }) {
  if (budgets.length === 0) return "none";
  return (
    <ul>
      {budgets.map(({ period, most, spent }) => (
        <li key={period} class={spent > most ? "error-text" : ""}>
          {costOf(spent, session())} of {costOf(most, session())} {period === "day" ? "today" : "this month"}
        </li>
      ))}
    </ul>
  );
}
