/** Webhooks: endpoints, and deliveries that wait or have failed. */
import { Top } from "../../parts/top.tsx";
import { Deliveries } from "./deliveries.tsx";
import { Endpoints } from "./endpoints.tsx";

/** The page. */
export function WebhooksPage() {
  return (
    <>
      <Top title="Webhooks" />
      <div class="cards">
        <Endpoints />
        <Deliveries />
      </div>
    </>
  );
}
