/** What happens to a response in the background. */
import { Link } from "../../parts/router.tsx";

/** The words, for the setting and for a response that runs. */
export function BackgroundHint() {
  return (
    <span class="small">
      It ends without this page, and{" "}
      <Link to="webhooks" class="link">
        webhooks
      </Link>{" "}
      report its end.
    </span>
  );
}
