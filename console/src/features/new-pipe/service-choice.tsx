import { useEffect, useState } from "react";
import { useChange, useOperation } from "../../api/queries.ts";
import { thisMachine } from "../../lib/this-machine.ts";
import { Button } from "../../parts/button.tsx";
import { fieldsOf, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Secret, SecretDialog } from "../../parts/secret.tsx";
import { named, Select } from "../../parts/select.tsx";
import { Answer } from "../../parts/states.tsx";
import type { StepProps } from "./step-props.ts";

/** The service that gets the rows; chosen already if there is only one, and created here if there is none. */
export function ServiceChoice({ form, change }: Pick<StepProps, "form" | "change">) {
  const create = useChange("createService", { changes: ["listServices"] });
  const made = create.data;
  const services = useOperation("listServices", {}, { pace: made === undefined ? "slow" : "fast" });
  // A pipe cannot be created before its engine has run once.
  const isStarting = services.data?.every(({ id, state }) => id !== made?.service.id || state === "provisioning");
  const field = fieldsOf({ form, onChange: change });
  const only = services.data?.length === 1 ? services.data[0]?.id : undefined;
  useEffect(() => {
    if (only !== undefined && form.serviceId === "") change({ serviceId: only });
  }, [only, form.serviceId, change]);
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
