import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function ServicesPage() {
  return (
    <Page title="Services">
      <EmptyState title="Services" />
    </Page>
  );
}
