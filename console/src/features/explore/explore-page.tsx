import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function ExplorePage() {
  return (
    <Page title="Explore">
      <EmptyState title="Explore" />
    </Page>
  );
}
