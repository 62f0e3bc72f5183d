import type { Issue } from "../../api/error.ts";
import { useOperation } from "../../api/queries.ts";
import { TextArea, TextField } from "../../parts/field.tsx";
import { Panel } from "../../parts/page.tsx";
import { Select } from "../../parts/select.tsx";
import { type MoveForm, type MoveMember, problemsAt } from "./move-form.ts";
import type { Service } from "./service.ts";
import css from "./services.module.css";

type MoveFieldsProps = {
  readonly service: Service;
  readonly form: MoveForm;
  readonly issues: readonly Issue[];
  readonly onChange: (next: Partial<MoveForm>) => void;
};

/** The server that receives a service: that of an external service, or another one. */
export function MoveFields({ service, form, issues, onChange }: MoveFieldsProps) {
  const { data: services = [] } = useOperation("listServices", {}, { pace: "slow" });
  const external = services.filter(({ id, runtime }) => runtime === "external" && id !== service.id);
  return (
    <Panel title="Move to a ClickHouse server">
      {external.length > 0 && (
        <Select
          label="Server"
          value={form.target}
          options={[
            { value: "", label: "Another server" },
            ...external.map(({ id, name }) => ({ value: id, label: `The server of ${name}` })),
          ]}
          onChange={(target) => onChange({ target })}
        />
      )}
      {form.target === "" && <ConnectionFields form={form} issues={issues} onChange={onChange} />}
    </Panel>
  );
}

function ConnectionFields({ form, issues, onChange }: Omit<MoveFieldsProps, "service">) {
  const at = (member: MoveMember) => problemsAt(member, issues);
  return (
    <>
      <TextArea
        label="URLs"
        hint="Of the HTTP interface, one per line: the server, or the replicas of one shard."
        rows={2}
        mono
        value={form.urls}
        error={at("urls")}
        onChange={(urls) => onChange({ urls })}
      />
      <div className={css.pair}>
        <TextField
          label="User"
          mono
          value={form.username}
          error={at("username")}
          onChange={(username) => onChange({ username })}
        />
        <TextField
          label="Password"
          type="password"
          autoComplete="new-password"
          value={form.password}
          error={at("password")}
          onChange={(password) => onChange({ password })}
        />
      </div>
      <TextField
        label="Cluster"
        hint="Of the server's configuration; empty for a single server."
        mono
        value={form.cluster}
        error={at("cluster")}
        onChange={(cluster) => onChange({ cluster })}
      />
      <TextArea
        label="Certificates"
        hint="In PEM, trusted for https instead of the public authorities. Usually empty."
        rows={2}
        mono
        value={form.caCertificate}
        error={at("tls")}
        onChange={(caCertificate) => onChange({ caCertificate })}
      />
    </>
  );
}
