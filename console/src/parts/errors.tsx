/** An error on the page: what happened, and what to do. */
import { useSignal } from "@preact/signals";
import { advice, send, TooLargeError } from "../api/client.ts";
import { saveBlob } from "./copy.ts";
import { prose } from "./prose.tsx";

interface Props {
  error: unknown;
  onRetry?: () => void;
  /** What happens next or what to do; by default what the kind of error suggests. */
  next?: string;
}

/** The error of a request, with a button that tries again where that may help, or downloads what is too large. */
export function ErrorNotice({ error, onRetry, next = advice(error) }: Props) {
  const text = error instanceof Error ? error.message : String(error);
  return (
    <div class="notice bad" role="alert">
      <p>
        <b>{prose(text)}</b> {next}
      </p>
      {error instanceof TooLargeError ? (
        <DownloadButton error={error} />
      ) : (
        onRetry && (
          <button type="button" class="btn" onClick={onRetry}>
            Try again
          </button>
        )
      )}
    </div>
  );
}

function DownloadButton({ error: { path, query } }: { error: TooLargeError }) {
  const failure = useSignal("");
  const name = `${path.split("/").slice(-2).join("-")}.json`;
  const download = async () => {
    try {
      saveBlob(name, await (await send(path, { query })).blob());
      failure.value = "";
    } catch (reason) {
      failure.value = (reason as Error).message;
    }
  };
  return (
    <>
      <button type="button" class="btn" onClick={download}>
        Download it
      </button>
      {failure.value && <p>{prose(failure.value)}</p>}
    </>
  );
}
