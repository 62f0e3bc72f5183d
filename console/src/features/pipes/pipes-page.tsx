import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function PipesPage() {
  return (
    <Page title="Pipes">
      <EmptyState title="Pipes" />
    </Page>
  );
}
