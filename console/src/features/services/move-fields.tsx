import type { Issue } from "../../api/error.ts";
import { useOperation } from "../../api/queries.ts";
import { fieldsOf, TextArea, TextField } from "../../parts/field.tsx";
import { Panel } from "../../parts/page.tsx";
import { Select } from "../../parts/select.tsx";
import { type MoveForm, type MoveMember, problemsAt } from "./move-form.ts";
import type { Service } from "./service.ts";

type MoveFieldsProps = {
  readonly service: Service;
  readonly form: MoveForm;
  readonly issues: readonly Issue[];
  readonly onChange: (next: Partial<MoveForm>) => void;
};

/** The server that receives a service: that of an external service, or another one. */
export function MoveFields({ service, form, issues, onChange }: MoveFieldsProps) {
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
