/** A secret that is shown once. */
import { copy } from "./copy.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icons.tsx";

/** The dialog with a new secret; closing it forgets the secret. */
export function SecretDialog({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>Copy it now. It is not shown again.</p>
      <div class="row">
        <code class="input grow" data-secret>
          {secret}
        </code>
        <button type="button" class="btn first" onClick={() => copy(secret, title)}>
          <Icon name="copy" />
          Copy
        </button>
      </div>
    </Dialog>
  );
}
