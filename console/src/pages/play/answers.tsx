/** What a response waits for: an approval, or the output of a function. */
import { useSignal } from "@preact/signals";
import type { Item } from "../../api/types.ts";
import { jsonOrText, RawJson } from "../../parts/raw.tsx";
import "./answers.css";

interface Props {
  item: Item;
  onAnswer: (answer: Item) => void;
}

/** The form for one call. */
export function AnswerForm(props: Props) {
  return props.item.type === "mcp_approval_request" ? <Approval {...props} /> : <Output {...props} />;
}

function Approval({ item, onAnswer }: Props) {
  const reason = useSignal("");
  const answer = (approve: boolean) => () =>
    onAnswer({
      type: "mcp_approval_response",
      approval_request_id: item.id,
      approve,
      ...(reason.value ? { reason: reason.value } : {}),
    });
  return (
    <div class="approve">
      <div class="line">
        <b>Allow this call?</b>
        <span class="muted">The MCP server {String(item.server_label)} may change things outside this server.</span>
      </div>
      <RawJson isShort class="" value={jsonOrText(String(item.arguments ?? ""))} />
      <div class="approve-actions">
        <button type="button" class="btn first" onClick={answer(true)}>
          Approve
        </button>
        <button type="button" class="btn" onClick={answer(false)}>
          Deny
        </button>
        <input
          class="input"
          aria-label="Reason"
          placeholder="Reason, for the model"
          value={reason.value}
          onInput={(event) => {
            reason.value = event.currentTarget.value;
          }}
        />
      </div>
    </div>
  );
}

function Output({ item, onAnswer }: Props) {
  const output = useSignal("");
  const type = item.type === "custom_tool_call" ? "custom_tool_call_output" : "function_call_output";
  return (
    <form
      class="approve"
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({ type, call_id: item.call_id, output: output.value });
      }}
    >
      <div class="line">
        <b>The model waits for the output of this function.</b>
      </div>
      <RawJson isShort class="" value={jsonOrText(String(item.arguments ?? item.input ?? ""))} />
      <div class="approve-actions">
        <textarea
          class="input mono"
          rows={2}
          aria-label={`Output of ${item.name}`}
          placeholder={'{"result": …}'}
          value={output.value}
          onInput={(event) => {
            output.value = event.currentTarget.value;
          }}
        />
        <button type="submit" class="btn first">
          Send output
        </button>
      </div>
    </form>
  );
}
