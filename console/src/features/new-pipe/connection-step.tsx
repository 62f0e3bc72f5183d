import { useEffect, useState } from "react";
import { useChange, useOperation } from "../../api/queries.ts";
import { durationText } from "../../lib/format.ts";
import { thisMachine } from "../../lib/this-machine.ts";
import { Button } from "../../parts/button.tsx";
import { fieldsOf, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
import { named, Select } from "../../parts/select.tsx";
import { Answer } from "../../parts/states.tsx";
import { inputsOf } from "./fields.ts";
import { isSent } from "./form.ts";
import { foundIn } from "./found.ts";
import { Refusal, SourceInputs } from "./source-inputs.tsx";
import { StepForm, type StepProps } from "./step-form.tsx";
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

/** The service that gets the rows; chosen already if there is only one, and created here if there is none. */
export function ServiceChoice({ form, change }: Pick<StepProps, "form" | "change">) {
  const create = useChange("createService", { changes: ["listServices"] });
  const made = create.data;
  const services = useOperation("listServices", {}, { pace: made === undefined ? "slow" : "fast" });
  // A pipe cannot be created before its engine has run once.
  const isStarting = services.data?.every(({ id, state }) => id !== made?.service.id || state === "provisioning");
  const field = fieldsOf({ form, onChange: change });
  const only = services.data?.length === 1 ? services.data[0]?.id : undefined;
  // An address or a draft may name a service that is gone.
  const isGone = services.isFetchedAfterMount && services.data?.every(({ id }) => id !== form.serviceId) === true;
  useEffect(() => {
    const next = only ?? "";
    if ((form.serviceId === "" || isGone) && form.serviceId !== next) change({ serviceId: next });
  }, [only, isGone, form.serviceId, change]);
  return (
    <>
      <Answer query={services}>
        {(list) =>
          list.length === 0 ? (
            <NewService create={create} />
          ) : (
            <div className="cells pair">
              <Select
                label="Service"
                hint="Its tables get the rows"
                {...field("serviceId")}
                options={[{ value: "", label: "Choose a service" }, ...named(list)]}
              />
            </div>
          )
        }
      </Answer>
      {made !== undefined && (
        <SecretDialog
          title={`${made.service.name} is created`}
          what="password"
          busy={isStarting === true}
          action={isStarting ? "It starts …" : "I have kept it"}
          onKept={create.reset}
        >
          <Secret label="Password of the user default" value={made.password} fileName="password.txt" />
        </SecretDialog>
      )}
    </>
  );
}

type NewServiceProps = { readonly create: ReturnType<typeof useChange<"createService">> };

/** With the defaults of the API, but for clients of this machine only. */
function NewService({ create }: NewServiceProps) {
  const [name, setName] = useState("");
  return (
    <>
      <Note>
        There is no service yet whose tables could get the rows. Create one here: it sleeps while nobody asks it.
      </Note>
      <div className="cells pair">
        <TextField
          label="Name of the new service"
          value={name}
          onChange={setName}
          error={create.error?.message}
          maxLength={50}
        />
      </div>
      <div>
        <Button
          needs="admin"
          refusal={name.trim() === "" ? "Fill in the name." : undefined}
          busy={create.isPending}
          onClick={() => create.mutate({ body: { name, ipAccessList: thisMachine } })}
        >
          Create service
        </Button>
      </div>
    </>
  );
}
