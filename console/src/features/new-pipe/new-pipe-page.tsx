import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function NewPipePage() {
  return (
    <Page title="New pipe">
      <EmptyState title="New pipe" />
    </Page>
  );
}
