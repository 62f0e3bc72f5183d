import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function DashboardsPage() {
  return (
    <Page title="Dashboards">
      <EmptyState title="Dashboards" />
    </Page>
  );
}
