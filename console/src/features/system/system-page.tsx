import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function SystemPage() {
  return (
    <Page title="System">
      <EmptyState title="System" />
    </Page>
  );
}
