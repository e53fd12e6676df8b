/** What a response waits for. */
import type { Item } from "../../api/types.ts";

/** Return the calls of an output that wait for the reader: functions to answer, and approvals. */
export function pendingCalls(output: readonly Item[], answers: readonly Item[]): Item[] {
  const answered = new Set(answers.map((each) => each.call_id ?? each.approval_request_id));
  return output.filter((item) => {
    if (item.type === "mcp_approval_request") return !answered.has(item.id);
    const isCall = item.type === "function_call" || item.type === "custom_tool_call";
    return (
      isCall && !answered.has(item.call_id) && !output.some((each) => each.call_id === item.call_id && each !== item)
    );
  });
}
