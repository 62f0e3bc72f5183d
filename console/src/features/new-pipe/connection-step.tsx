import { durationText } from "../../lib/format.ts";
import { Button } from "../../parts/button.tsx";
import { Note } from "../../parts/note.tsx";
import { inputsOf } from "./fields.ts";
import { isSent } from "./form.ts";
import { foundIn } from "./found.ts";
import { Refusal } from "./refusal.tsx";
import { ServiceChoice } from "./service-choice.tsx";
import { SourceInputs } from "./source-inputs.tsx";
import { StepForm } from "./step-form.tsx";
import type { StepProps } from "./step-props.ts";
import { useListing } from "./use-listing.ts";

/** How the source is reached. Next tries it first. */
export function ConnectionStep({ form, change, onNext }: StepProps) {
  const listing = useListing(form);
  const inputs = inputsOf(form.kind, form.values, "connection");
  const missing = inputs.find(({ required, path }) => required && !form.values[path]?.trim());
  const noService = form.serviceId === "" ? "Choose a service." : undefined;
  const refusal = missing === undefined ? noService : `Fill in ${missing.label}.`;
  const isTested = !isSent(form);
  const found = isTested && listing.listing !== undefined ? foundIn(form, listing.listing) : undefined;
  return (
    <StepForm
      refusal={refusal}
      busy={listing.isBusy}
      onNext={() => void listing.read().then((isReached) => isReached && onNext())}
      actions={
        isTested && (
          <Button refusal={refusal} busy={listing.isBusy} onClick={() => void listing.read()}>
            Test connection
          </Button>
        )
      }
    >
      <ServiceChoice form={form} change={change} />
      <SourceInputs step="connection" form={form} change={change} error={listing.error} />
      {listing.error !== undefined && <Refusal error={listing.error} form={form} step="connection" />}
      {found !== undefined && (
        <Note tone={found.isEmpty ? "warn" : "ok"}>
          {found.text} Answered in {durationText((listing.took ?? 0) / 1000)}.
        </Note>
      )}
    </StepForm>
  );
}
