/** The items of a fork before its message: folded where they are many, and displayed from the newest one. */
import { useSignal } from "@preact/signals";
import type { Item } from "../../api/types.ts";
import { plural } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { ItemView } from "../../parts/items/item.tsx";
import { Link } from "../../parts/router.tsx";
import type { Place } from "./settings.ts";
import "./history_view.css";

const FEW = 6; // items that are open from the start
const PAGE = 50; // items that one press shows

/** What the first request of a lane has besides its message. */
export function HistoryView({ items, place }: { items: readonly Item[]; place: Place }) {
  const parent = place.previous_response_id;
  const displayed = useSignal(items.length <= FEW ? FEW : 0);
  const start = Math.max(0, items.length - displayed.value);
  const hidden = Math.min(PAGE, start);
  return (
    <>
      {parent && (
        <p class="muted small">
          Continues after{" "}
          <Link to={`r/${parent}`} class="link mono">
            {parent.slice(0, 16)}…
          </Link>
        </p>
      )}
      {hidden > 0 && (
        <button type="button" class="btn lane-history" onClick={() => (displayed.value += PAGE)}>
          <Icon name="down" />
          {displayed.value === 0 ? `${plural(items.length, "earlier item")} of this request: show` : "Show"} {hidden}
          {start > hidden ? ` of ${start}` : ""}
        </button>
      )}
      {items.slice(start).map((item, at) => (
        <ItemView key={start + at} item={item} />
      ))}
    </>
  );
}
