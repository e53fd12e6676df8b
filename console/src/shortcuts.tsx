/** The list of shortcuts, and the switch that turns them off. */
import { Dialog } from "./parts/dialog.tsx";
import { Switch } from "./parts/fields.tsx";
import { activeShortcuts } from "./parts/keys.ts";
import { shortcuts } from "./parts/preferences.ts";
import "./shortcuts.css";

/** A dialog with the shortcuts of the page that is shown. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <ul class="rows">
        <Switch
          label="Single keys are shortcuts"
          checked={shortcuts.value === "on"}
          onChange={(isOn) => {
            shortcuts.value = isOn ? "on" : "off";
          }}
        />
      </ul>
      <dl class="shortcut-list">
        {activeShortcuts().map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
