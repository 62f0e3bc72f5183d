import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function OverviewPage() {
  return (
    <Page title="Overview">
      <EmptyState title="Overview" />
    </Page>
  );
}
