import { useSearch } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { useMay } from "../../api/role.ts";
import { Page } from "../../parts/page.tsx";
import { EmptyState, Skeleton } from "../../parts/states.tsx";
import { cloneOf } from "./clone.ts";
import { emptyForm } from "./form.ts";
import { useStoredDraft } from "./saved-draft.ts";
import { Wizard } from "./wizard.tsx";

/** From nothing to flowing rows. */
export function NewPipePage() {
  const { service = "", clone, draft } = useSearch({ from: "/new-pipe" });
  const { isReady, form } = useStoredDraft();
  // A draft has begun as the clone already.
  const [serviceId = "", pipeId = ""] = draft === undefined ? (clone ?? "").split("/") : [];
  const pipe = useOperation("getPipe", { params: { serviceId, pipeId } }, { pace: "never", enabled: pipeId !== "" });
  const cloned = pipe.data && cloneOf(pipe.data);
  const isCloned = pipeId === "" || !pipe.isPending;
  const may = useMay("developer");
  return (
    <Page title="New pipe">
      {!may && (
        <EmptyState title="This key may not create pipes">
          Creating a pipe needs the role developer. Sign in with another key, or ask an admin for the role.
        </EmptyState>
      )}
      {may && !isReady && <Skeleton lines={6} />}
      {may && isReady && isCloned && <Wizard begin={{ ...emptyForm, serviceId: service, ...cloned, ...form }} />}
    </Page>
  );
}
