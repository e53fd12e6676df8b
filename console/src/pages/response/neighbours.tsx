/** The responses before and after one in time. */
import { request } from "../../api/client.ts";
import type { List, Summary } from "../../api/types.ts";
import { Icon } from "../../parts/icons.tsx";
import { useShortcuts } from "../../parts/keys.ts";
import { navigate } from "../../parts/router.tsx";

/** Buttons for the newer and the older response; they are looked up when pressed. */
export function Neighbours({ id, onError }: { id: string; onError: (error: unknown) => void }) {
  const go = (order: "asc" | "desc") => async () => {
    try {
      const query = { after: id, limit: 1, order };
      const [found] = (await request<List<Summary>>("/admin/v1/responses", { query })).data;
      if (found) navigate(`r/${found.id}`);
    } catch (error) {
      onError(error);
    }
  };
  const [newer, older] = [go("asc"), go("desc")];
  useShortcuts([
    { keys: "k", does: "Newer response", run: newer },
    { keys: "j", does: "Older response", run: older },
    { keys: "Escape", does: "Back to the list", run: () => (history.state?.inside ? history.back() : navigate("")) },
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
