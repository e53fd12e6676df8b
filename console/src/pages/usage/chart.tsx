/**
 * Cost or tokens by day or hour, stacked by group, with daily budgets as lines. Every part leads to its responses. The bars are
 * narrow targets, so for the keyboard and for fingers a table has the same links.
 */
import { session } from "../../api/session.ts";
import type { Figures } from "../../api/types.ts";
import { compact, plural } from "../../parts/format.ts";
import { visible } from "../../parts/raw.tsx";
import { Link } from "../../parts/router.tsx";
import "./chart.css";
import {
  amountOf,
  type Budget,
  type By,
  costOf,
  DAY,
  layersOf,
  type Measure,
  pathTo,
  rangeOf,
  stepText,
  timesOf,
  zoneOf,
} from "./data.ts";

/** A budget is a line while it is at most this many times the highest day: else it would flatten all bars. */
const VISIBLE_BUDGET = 4;

interface Props {
  q: string;
  found: Figures;
  by: By;
  measure: Measure;
  /** Daily budgets. */
  budgets: readonly Budget[];
}

/** The bars with their axis and legend. */
export function Chart({ q, found, by, measure, budgets }: Props) {
  const text = (value: number) => (measure === "cost" ? costOf(value, session()) : compact(value));
  const layers = layersOf(found);
  const steps = new Map(found.buckets.map((each) => [each.time, each]));
  const highest = Math.max(0, ...found.buckets.map((each) => amountOf(each, measure)));
  const lines = measure === "cost" ? budgets.filter(({ most }) => most <= VISIBLE_BUDGET * highest) : [];
  const top = Math.max(highest, ...lines.map(({ most }) => most));
  const share = (value: number) => `${top ? (100 * value) / top : 0}%`;
  const times = timesOf(found);
  const what = `${measure === "cost" ? "Cost" : "Tokens"} ${found.step === DAY ? "a day" : "an hour"}`;
  return (
    <div class="usage-chart">
      <div class="usage-plot">
        {top > 0 && (
          <div class="usage-axis" aria-hidden="true">
            <span>{text(top)}</span>
            <span>{text(top / 2)}</span>
            <span>0</span>
          </div>
        )}
        <ol class="usage-days" aria-label={`${what} in ${zoneOf(found.step)}, at most ${text(highest)}`}>
          {times.map((time) => {
            const known = steps.get(time);
            const range = { q, ...rangeOf(found, time) };
            const words = stepText(time, found.step);
            const label = `${words}: ${text(known ? amountOf(known, measure) : 0)}, ${plural(known?.responses ?? 0, "response")}`;
            return (
              <li key={time}>
                <Link class="usage-day" to={pathTo(range)} label={label} title={label} tabIndex={-1}>
                  {""}
                </Link>
                {layers.map((layer, at) => {
                  const counts = layer.byTime.get(time);
                  const value = counts ? amountOf(counts, measure) : 0;
                  if (!counts || value === 0) return null;
                  const name = `${layer.name}, ${words}: ${text(value)}, ${plural(counts.responses, "response")}`;
                  return (
                    <span
                      key={`${layer.isOther} ${layer.values.join()}`}
                      class="usage-part"
                      style={{ height: share(value) }}
                    >
                      <Link
                        class={layer.isOther ? "usage-others" : `usage-layer-${at}`}
                        to={pathTo({ ...range, ...layer, by })}
                        label={name}
                        title={name}
                        tabIndex={-1}
                      >
                        {""}
                      </Link>
                    </span>
                  );
                })}
              </li>
            );
          })}
        </ol>
        {lines.map(({ key, name, most }) => (
          <div key={key} class="usage-budget" style={{ bottom: share(most) }}>
            <span>{visible(`${name}: ${text(most)} a day`)}</span>
          </div>
        ))}
      </div>
      <div class="ticks" aria-hidden="true">
        <span>{stepText(times[0] ?? 0, found.step)}</span>
        <span>{`${what.toLowerCase()}, in ${zoneOf(found.step)}`}</span>
        <span>{stepText(times.at(-1) ?? 0, found.step)}</span>
      </div>
      <ul class="usage-legend">
        {layers.map((layer, at) => (
          <li key={`${layer.isOther} ${layer.values.join()}`} class="legend-key">
            <i class={layer.isOther ? "usage-others" : `usage-layer-${at}`} />
            <Link to={pathTo({ ...found, ...layer, q, by })}>{visible(layer.name)}</Link>
          </li>
        ))}
      </ul>
    </div>
  );
}
