import { useState } from "react";
import type { CallInput, OperationResult } from "../../api/client.ts";
import type { Issue } from "../../api/error.ts";
import { useChange, useOperation } from "../../api/queries.ts";
import { bytesText, countText } from "../../lib/format.ts";
import { Button } from "../../parts/button.tsx";
import { UnsavedDialog } from "../../parts/dialog.tsx";
import { Checkbox, fieldsOf, TextArea, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Bytes, Count } from "../../parts/numbers.tsx";
import { Facts, Panel } from "../../parts/page.tsx";
import { Select } from "../../parts/select.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import { emptyMove, type MoveForm, type MoveMember, moveBodyOf, otherIssues, problemsAt } from "./move-form.ts";
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
      <UnsavedDialog isChanged={JSON.stringify(form) !== JSON.stringify(emptyMove)} />
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

type MoveFieldsProps = {
  readonly service: Service;
  readonly form: MoveForm;
  readonly issues: readonly Issue[];
  readonly onChange: (next: Partial<MoveForm>) => void;
};

/** The server that receives a service: that of an external service, or another one. */
function MoveFields({ service, form, issues, onChange }: MoveFieldsProps) {
  const { data: services = [] } = useOperation("listServices", {}, { pace: "slow" });
  const field = fieldsOf({ form, onChange });
  const external = services.filter(({ id, runtime }) => runtime === "external" && id !== service.id);
  return (
    <Panel title="Move to a ClickHouse server">
      {external.length > 0 && (
        <Select
          label="Server"
          {...field("target")}
          options={[
            { value: "", label: "Another server" },
            ...external.map(({ id, name }) => ({ value: id, label: `The server of ${name}` })),
          ]}
        />
      )}
      {form.target === "" && <ConnectionFields form={form} issues={issues} onChange={onChange} />}
    </Panel>
  );
}

function ConnectionFields({ form, issues, onChange }: Omit<MoveFieldsProps, "service">) {
  const field = fieldsOf({ form, onChange });
  const at = (member: MoveMember) => problemsAt(member, issues);
  return (
    <>
      <TextArea
        label="URLs"
        hint="The HTTP interface of the server or of the replicas of one shard, one per line."
        rows={2}
        mono
        {...field("urls")}
        error={at("urls")}
      />
      <div className="cells pair">
        <TextField label="User" mono {...field("username")} error={at("username")} />
        <TextField
          label="Password"
          type="password"
          autoComplete="new-password"
          {...field("password")}
          error={at("password")}
        />
      </div>
      <TextField
        label="Cluster"
        hint="The cluster in the server's configuration; empty for a single server."
        mono
        {...field("cluster")}
        error={at("cluster")}
      />
      <TextArea
        label="Certificates"
        hint="In PEM, trusted for https instead of the public authorities. Usually empty."
        rows={2}
        mono
        {...field("caCertificate")}
        error={at("tls")}
      />
    </>
  );
}

type Plan = OperationResult<"planServiceMove">;
type PlannedObject = Plan["objects"][number];
type Problem = Plan["problems"][number];

/** What a move takes along, what it cannot, and why the server would refuse it. */
function MovePlan({ plan }: { readonly plan: Plan }) {
  return (
    <>
      <Facts
        facts={[
          ["Objects", countText(plan.objects.length)],
          ["Rows", countText(plan.totalRows)],
          ["Size", `${bytesText(plan.totalBytes)} without compression`],
        ]}
      />
      {plan.objects.length > 0 && (
        <Table label="Objects to move" columns={columns} rows={plan.objects} rowKey={keyOf} />
      )}
      {plan.leftBehind.length > 0 && (
        <Note tone="warn">
          These cannot be moved: <Problems problems={plan.leftBehind} />
        </Note>
      )}
      {plan.problems.length > 0 && (
        <Note tone="bad">
          The server cannot receive the service: <Problems problems={plan.problems} />
        </Note>
      )}
    </>
  );
}

const kinds: Readonly<Record<PlannedObject["kind"], string>> = {
  table: "table",
  view: "view",
  materializedView: "materialized view",
  dictionary: "dictionary",
  function: "function",
};

const columns: readonly Column<PlannedObject>[] = [
  { header: "Name", cell: (object) => <code>{nameOf(object)}</code> },
  { header: "Kind", cell: ({ kind }) => kinds[kind], nowrap: true },
  { header: "Rows", align: "end", cell: ({ rows }) => <Count exact value={rows} none="" /> },
  { header: "Size", align: "end", cell: ({ bytes }) => <Bytes value={bytes} none="" /> },
];

function nameOf({ database, name }: PlannedObject): string {
  return database === undefined ? name : `${database}.${name}`;
}

function keyOf(object: PlannedObject): string {
  return `${object.kind} ${nameOf(object)}`;
}

function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  return (
    <ul>
      {problems.map(({ object, message }) => (
        <li key={`${object} ${message}`}>
          {object !== undefined && <code>{object}</code>}
          {object !== undefined && ": "}
          {message}
        </li>
      ))}
    </ul>
  );
}
