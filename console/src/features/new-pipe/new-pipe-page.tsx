import { useSearch } from "@tanstack/react-router";
import { useMay } from "../../api/role.ts";
import { Page } from "../../parts/page.tsx";
import { EmptyState, Skeleton } from "../../parts/states.tsx";
import { emptyForm } from "./form.ts";
import { useStoredDraft } from "./saved-draft.ts";
import { Wizard } from "./wizard.tsx";

/** From nothing to flowing rows. */
export function NewPipePage() {
  const { service = "" } = useSearch({ from: "/new-pipe" });
  const { isReady, form } = useStoredDraft();
  const may = useMay("developer");
  return (
    <Page title="New pipe">
      {!may && (
        <EmptyState title="This key may not create pipes">
          Creating a pipe needs the role developer. Sign in with another key, or ask an admin for the role.
        </EmptyState>
      )}
      {may && !isReady && <Skeleton lines={6} />}
      {may && isReady && <Wizard begin={{ ...emptyForm, serviceId: service, ...form }} />}
    </Page>
  );
}
