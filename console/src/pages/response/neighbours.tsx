/** The responses before and after one in time. */
import { request } from "../../api/client.ts";
import type { List, Summary } from "../../api/types.ts";
import { withFilter } from "../../parts/filter_line.ts";
import { Icon } from "../../parts/icons.tsx";
import { useShortcuts } from "../../parts/keys.ts";
import { listPath, responsePath } from "../../parts/paths.ts";
import { navigate, query } from "../../parts/router.tsx";

/** Buttons for the newer and the older response; they are looked up when pressed. */
export function Neighbours({ id, onError }: { id: string; onError: (error: unknown) => void }) {
  const go = (order: "asc" | "desc") => async () => {
    try {
      const q = withFilter(query.value.get("q") ?? "", "sort", ""); // the neighbours are those in time
      const [found] = (
        await request<List<Summary>>("/admin/v1/responses", { query: { q, after: id, limit: 1, order } })
      ).data;
      if (found) navigate(responsePath(found.id));
    } catch (error) {
      onError(error);
    }
  };
  const [newer, older] = [go("asc"), go("desc")];
  useShortcuts([
    { keys: "k", does: "Newer response", run: newer },
    { keys: "j", does: "Older response", run: older },
    {
      keys: "Escape",
      does: "Back to the list",
      run: () => (history.state?.inside ? history.back() : navigate(listPath())),
    },
  ]);
  return (
    <>
      <button type="button" class="btn bare icon wide" aria-label="Newer response" onClick={newer}>
        <Icon name="left" />
      </button>
      <button type="button" class="btn bare icon wide" aria-label="Older response" onClick={older}>
        <Icon name="right" />
      </button>
    </>
  );
}
