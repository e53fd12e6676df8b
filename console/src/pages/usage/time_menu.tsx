/** The menu of the time, with the dialog of an exact one. */
import { useSignal } from "@preact/signals";
import { serverNow } from "../../api/clock.ts";
import { clock } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Menu } from "../../parts/menu.tsx";
import { nextZone, zone } from "../../parts/preferences.ts";
import { TimeDialog } from "../../parts/time_dialog.tsx";
import { withOffset } from "../../parts/zone.ts";
import { choose, RANGES, type View } from "./view.ts";

/** The menu; what it chooses goes to the address. */
export function TimeMenu({ view: { days, period } }: { view: View }) {
  const isChoosing = useSignal(false);
  const [since, until] = [clock(period.since * 1000), clock(period.until * 1000)];
  const text = days ? `Last ${days} days` : `${since} – ${until}`;
  const open = () => {
    isChoosing.value = true;
  };
  const actions = [
    ...RANGES.map((each) => ({
      label: `Last ${each} days`,
      run: () => choose({ days: String(each), since: "", until: "" }),
    })),
    { label: "From … to …", run: open },
    { label: zone.value === "UTC" ? "Show local times" : "Show times in UTC", run: nextZone },
  ];
  return (
    <>
      <Menu class="btn" label={`Time: ${text}`} actions={actions}>
        <Icon name="clock" />
        {text}
        <Icon name="down" />
      </Menu>
      {isChoosing.value && (
        <TimeDialog
          window={{ since: period.since, until: period.until * 1000 < serverNow() ? period.until : undefined }}
          onChoose={(from, to) =>
            choose({ days: "", since: withOffset(from * 1000), until: to === undefined ? "" : withOffset(to * 1000) })
          }
          onClose={() => {
            isChoosing.value = false;
          }}
        />
      )}
    </>
  );
}
