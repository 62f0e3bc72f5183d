import { useSearch } from "@tanstack/react-router";
import { useOperation } from "../../api/queries.ts";
import { Page } from "../../parts/page.tsx";
import { Skeleton } from "../../parts/states.tsx";
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
  return (
    <Page title="New pipe" needs="developer">
      {!isReady && <Skeleton lines={6} />}
      {isReady && isCloned && <Wizard begin={{ ...emptyForm, serviceId: service, ...cloned, ...form }} />}
    </Page>
  );
}
