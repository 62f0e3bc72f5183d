import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function ActivityPage() {
  return (
    <Page title="Activity">
      <EmptyState title="Activity" />
    </Page>
  );
}
