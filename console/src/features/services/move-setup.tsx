import { useState } from "react";
import type { CallInput, OperationResult } from "../../api/client.ts";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Checkbox } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Panel } from "../../parts/page.tsx";
import { toast } from "../../parts/toast.tsx";
import { MoveFields } from "./move-fields.tsx";
import { emptyMove, type MoveForm, moveBodyOf, otherIssues } from "./move-form.ts";
import { MovePlan } from "./move-plan.tsx";
import type { Service } from "./service.ts";

type Planned = {
  readonly body: CallInput<"planServiceMove">["body"];
  readonly plan: OperationResult<"planServiceMove">;
};

/** Where to, and what the move would take along; it begins with the second step only. */
export function MoveSetup({ service }: { readonly service: Service }) {
  const [form, setForm] = useState<MoveForm>(emptyMove);
  const [planned, setPlanned] = useState<Planned>();
  const params = { serviceId: service.id };
  const plan = useChange("planServiceMove", {
    changes: [],
    onDone: (result, { body }) => setPlanned({ body, plan: result }),
  });
  const change = (next: Partial<MoveForm>) => {
    setForm({ ...form, ...next });
    // What was planned is not what the form says any more.
    setPlanned(undefined);
  };
  const submit = () => {
    if (!plan.isPending) plan.mutate({ params, body: moveBodyOf(form) });
  };
  const { error } = plan;
  const others = error === null ? [] : otherIssues(error.issues);
  return (
    <>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <MoveFields service={service} form={form} issues={error?.issues ?? []} onChange={change} />
        {error !== null && (error.issues.length === 0 || others.length > 0) && <Note tone="bad">{error.message}</Note>}
        <div className="row">
          <Button
            type="submit"
            look={planned === undefined ? "primary" : "secondary"}
            needs="admin"
            busy={plan.isPending}
          >
            Show the plan
          </Button>
        </div>
        {service.state === "idle" && <p className="muted">Planning wakes the service.</p>}
      </form>
      {planned !== undefined && <Begin service={service} planned={planned} />}
    </>
  );
}

function Begin({ service, planned: { body, plan } }: { readonly service: Service; readonly planned: Planned }) {
  const [leaveBehind, setLeaveBehind] = useState(false);
  const begin = useChange("moveService", {
    changes: ["getServiceMove", "getService", "listServices"],
    onDone: () => toast(`Moving ${service.name}`, "info"),
  });
  const refusal =
    plan.problems.length > 0
      ? "The server cannot receive the service yet."
      : plan.leftBehind.length > 0 && !leaveBehind
        ? "Some objects cannot be moved."
        : undefined;
  return (
    <Panel title="What will be moved">
      <MovePlan plan={plan} />
      {plan.leftBehind.length > 0 && (
        <Checkbox
          label="Leave these behind"
          hint="They stay in the stopped service that keeps the old side."
          value={leaveBehind}
          onChange={setLeaveBehind}
        />
      )}
      <Note>
        The service goes on while its rows are copied. It is stopped for the last part, and both sides are compared. Its
        pipes, users, passwords and address stay.
      </Note>
      {begin.error !== null && <Note tone="bad">{begin.error.message}</Note>}
      <div className="row">
        <Button
          look="primary"
          needs="admin"
          refusal={refusal}
          busy={begin.isPending}
          onClick={() =>
            begin.mutate({
              params: { serviceId: service.id },
              body: { ...body, ...(leaveBehind ? { leaveBehind } : {}) },
            })
          }
        >
          Move the service
        </Button>
      </div>
    </Panel>
  );
}
