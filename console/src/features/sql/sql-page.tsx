import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function SqlPage() {
  return (
    <Page title="SQL">
      <EmptyState title="SQL" />
    </Page>
  );
}
