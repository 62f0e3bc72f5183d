import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function AccessPage() {
  return (
    <Page title="Access">
      <EmptyState title="Access" />
    </Page>
  );
}
