/** What can be done with the list as a whole: its order, saved views, and its export. */
import { useSignal } from "@preact/signals";
import { type ExportFormat, exportResponses } from "../../api/export.ts";
import { saveBlob } from "../../parts/copy.ts";
import { ErrorNotice } from "../../parts/errors.tsx";
import { withFilter } from "../../parts/filter_line.ts";
import { Icon } from "../../parts/icons.tsx";
import { announce } from "../../parts/live.tsx";
import { Menu } from "../../parts/menu.tsx";
import { query } from "../../parts/router.tsx";
import { ViewsMenu } from "../../parts/views.tsx";
import { ORDERS, type OrderName, orderOf } from "./order.ts";
import "./tools.css";

const FORMATS: Record<ExportFormat, string> = { csv: "CSV", jsonl: "JSON Lines" };

interface Props {
  line: string;
  onChange: (line: string) => void;
}

/** The menus, and the error of an export. */
export function ListTools({ line, onChange }: Props) {
  const failed = useSignal<{ format: ExportFormat; error: unknown } | undefined>(undefined);
  const isExporting = useSignal(false);
  const save = async (format: ExportFormat) => {
    if (isExporting.value) return;
    failed.value = undefined;
    isExporting.value = true;
    announce("The export has started.");
    try {
      const { name, content } = await exportResponses(line, format);
      saveBlob(name, content);
    } catch (error) {
      failed.value = { format, error };
    }
    isExporting.value = false;
  };
  const order = orderOf(line);
  const orders = Object.entries(ORDERS) as [OrderName, string][];
  return (
    <>
      <div class="list-tools" role="group" aria-label="List">
        <Menu
          class="btn"
          label={`Order: ${ORDERS[order]}`}
          actions={orders.map(([name, label]) => ({
            label,
            run: () => onChange(withFilter(line, "sort", name === "newest" ? "" : name)),
          }))}
        >
          {ORDERS[order]}
          <Icon name="down" />
        </Menu>
        <ViewsMenu page="responses" path="" query={query.value.toString()} />
        <Menu
          class="btn"
          label={isExporting.value ? "Exporting…" : "Export"}
          actions={Object.entries(FORMATS).map(([format, label]) => ({
            label: `${label}, at most 100,000 responses`,
            run: () => void save(format as ExportFormat),
          }))}
        >
          {isExporting.value ? "Exporting…" : "Export"}
          <Icon name="download" />
        </Menu>
      </div>
      {failed.value && (
        <ErrorNotice error={failed.value.error} onRetry={() => failed.value && void save(failed.value.format)} />
      )}
    </>
  );
}
