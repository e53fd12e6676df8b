/** The time that the page covers: a range before now, or exact times in the shown zone. */
import { useSignal } from "@preact/signals";
import { serverNow } from "../../api/clock.ts";
import { copy } from "../../parts/copy.ts";
import { filterValue, withFilter } from "../../parts/filter_line.ts";
import { clock } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { nextZone, zone } from "../../parts/preferences.ts";
import { hrefOf } from "../../parts/router.tsx";
import { TimeDialog } from "../../parts/time_dialog.tsx";
import { fromWallClock, wallClock, withOffset } from "../../parts/zone.ts";
import { fixed, RANGES, type Window, withRange, withTime } from "./window.ts";
import "./time_menu.css";

const DAY = 86_400_000; // ms

interface Props {
  line: string;
  window: Window;
  onChange: (line: string) => void;
}

/** Return what the figures cover, in words. */
export function timeText(line: string, { since, until }: Window): string {
  const from = filterValue(line, "since");
  const to = filterValue(line, "until");
  if (!from && !to) return RANGES["90m"];
  if (!to && Object.hasOwn(RANGES, from)) return RANGES[from as keyof typeof RANGES];
  if (!to) return `Since ${clock(since * 1000)}`;
  return `${clock(since * 1000)} – ${clock(until * 1000)}`;
}

/** The menu of the time, with its dialog. */
export function TimeMenu({ line, window, onChange }: Props) {
  const isChoosing = useSignal(false);
  const isAny = !filterValue(line, "since") && !filterValue(line, "until");
  const text = isAny ? "Any time" : timeText(line, window);
  const open = () => {
    isChoosing.value = true;
  };
  /** Choose from the beginning of a day, so many days ago, to its end; today has none yet. */
  const chooseDay = (ago: number) => () => {
    const date = (days: number) => wallClock(serverNow() - days * DAY).slice(0, 10);
    const start = (days: number) => withOffset(fromWallClock(`${date(days)}T00:00:00`));
    onChange(withFilter(withFilter(line, "since", start(ago)), "until", ago ? start(ago - 1) : ""));
  };
  const copyLink = () => {
    const place = new URL(hrefOf(""), location.href);
    place.searchParams.set("q", fixed(line, serverNow() / 1000));
    void copy(place.href, "Link to exactly this time");
  };
  const actions = [
    { label: "Any time", run: () => onChange(withRange(line, "")) },
    ...Object.entries(RANGES).map(([range, label]) => ({ label, run: () => onChange(withRange(line, range)) })),
    { label: "Today", run: chooseDay(0) },
    { label: "Yesterday", run: chooseDay(1) },
    { label: "From … to …", run: open },
    { label: zone.value === "UTC" ? "Show local times" : "Show times in UTC", run: nextZone },
    { label: "Copy a link to this time", run: copyLink },
  ];
  return (
    <>
      <Menu class="btn" label={`Time: ${text}`} actions={actions}>
        <Icon name="clock" />
        <span class="time-menu-text">{text}</span>
        <Icon name="down" />
      </Menu>
      {isChoosing.value && (
        <TimeDialog
          window={filterValue(line, "until") ? window : { ...window, until: undefined }}
          onChoose={(since, until) => onChange(withTime(line, since, until))}
          onClose={() => {
            isChoosing.value = false;
          }}
        />
      )}
    </>
  );
}
