import { Page } from "../../parts/page.tsx";
import { EmptyState } from "../../parts/states.tsx";

export function BackupsPage() {
  return (
    <Page title="Backups">
      <EmptyState title="Backups" />
    </Page>
  );
}
