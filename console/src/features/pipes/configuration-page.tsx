import { type ReactNode, useState } from "react";
import { sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import type { SourceField } from "../../../../src/sources/contract/fields.ts";
import { describeCall } from "../../api/client.ts";
import { asApiError } from "../../api/error.ts";
import { useChange } from "../../api/queries.ts";
import { wordsOf } from "../../lib/format.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { FormDialog } from "../../parts/dialog.tsx";
import { TextArea, TextField } from "../../parts/field.tsx";
import { Facts, Panel } from "../../parts/page.tsx";
import { Answer } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toast } from "../../parts/toast.tsx";
import { ConfigurationForm } from "./configuration-form.tsx";
import { loginFields, scalingFields, settingFields, settingsOf } from "./draft.ts";
import { pipeReads } from "./pipe-actions.tsx";
import { kindOf, type PipeDetails, usePipe } from "./use-pipe.ts";

/** The definition of the pipe, and changing it. */
export function ConfigurationPage() {
  return <Answer query={usePipe()}>{(pipe) => <Configuration pipe={pipe} />}</Answer>;
}

function Configuration({ pipe }: { readonly pipe: PipeDetails }) {
  const [editing, setEditing] = useState<"form" | "secrets" | "closed">();
  const close = () => setEditing("closed");
  if (editing === "form") return <ConfigurationForm pipe={pipe} onClose={close} />;
  const kind = kindOf(pipe);
  const { source, destination, fieldMappings, settings, scaling } = pipe;
  const actions = (
    <>
      {loginFields(pipe).length > 0 && (
        <Button needs="developer" onClick={() => setEditing("secrets")}>
          Replace credentials …
        </Button>
      )}
      <Button needs="developer" look="primary" autoFocus={editing === "closed"} onClick={() => setEditing("form")}>
        Edit
      </Button>
    </>
  );
  const { columns = [], ...plain } = destination;
  const own = { source, destination, fieldMappings };
  return (
    <>
      <Panel title="Source" actions={<span style={{ display: "flex", gap: "var(--space-2)" }}>{actions}</span>}>
        <Facts facts={factsOf(source[kind] ?? {}, sourceDescriptions[kind].fields)} />
      </Panel>
      <Panel title="Destination">
        <Facts facts={factsOf(plain)} />
      </Panel>
      {fieldMappings.length > 0 && (
        <Panel title="Columns" flush>
          <Table label="Columns" columns={mappingColumns(columns)} rows={fieldMappings} rowKey={keyOf} />
        </Panel>
      )}
      <Panel title="Settings">
        <Facts
          facts={settingsOf(kind).map((name) => {
            const { label, unit } = settingFields[name];
            const value = settings[name];
            return [label, value === undefined || value === null ? "default" : `${value}${unit ? ` ${unit}` : ""}`];
          })}
        />
      </Panel>
      <Panel title="Scaling">
        <Facts
          facts={Object.entries(scalingFields).map(([name, label]) => [
            label,
            String(scaling[name as "replicas"] ?? "default"),
          ])}
        />
      </Panel>
      <Panel title="As JSON">
        <CodeBlock label="definition" text={JSON.stringify({ name: pipe.name, ...own, scaling, settings }, null, 2)} />
        <CodeBlock label="curl command" text={curlOf(pipe)} wrap />
      </Panel>
      {editing === "secrets" && <SecretsDialog pipe={pipe} onClose={close} />}
    </>
  );
}

type Mapping = PipeDetails["fieldMappings"][number];

function keyOf({ sourceField, destinationField }: Mapping): string {
  return JSON.stringify([sourceField, destinationField]);
}

function mappingColumns(columns: PipeDetails["destination"]["columns"]): readonly Column<Mapping>[] {
  const types = new Map((columns ?? []).map(({ name, type }) => [name, type]));
  return [
    { header: "Field of the source", cell: ({ sourceField }) => <code>{sourceField}</code> },
    { header: "Column", cell: ({ destinationField }) => <code>{destinationField}</code> },
    { header: "Type", cell: ({ destinationField }) => <code>{types.get(destinationField) ?? "–"}</code> },
  ];
}

/** Members in the words of the form, else in those of their names; `at` is the object that they belong to. */
function factsOf(
  members: object,
  fields: readonly SourceField[] = [],
  at = { path: "", words: "" },
): (readonly [string, ReactNode])[] {
  return Object.entries(members).flatMap(([name, value]): (readonly [string, ReactNode])[] => {
    const path = `${at.path}${name}`;
    const { label, options } = fields.find((field) => field.path === path) ?? {};
    const words = label ?? (at.words === "" ? wordsOf(name) : `${at.words}: ${wordsOf(name).toLowerCase()}`);
    const isList = Array.isArray(value) && value.every((one) => typeof one !== "object");
    if (isList) return [[words, <code key={name}>{value.join(", ") || "none"}</code>]];
    if (Array.isArray(value)) return [[words, <pre key={name}>{JSON.stringify(value, null, 2)}</pre>]];
    if (typeof value === "object" && value !== null) return factsOf(value, fields, { path: `${path}.`, words });
    const option = options?.find((one) => one.value === value)?.label;
    if (option !== undefined) return [[words, option]];
    return [[words, <code key={name}>{typeof value === "boolean" ? (value ? "yes" : "no") : String(value)}</code>]];
  });
}

/** Reads the definition with a key from the environment. */
function curlOf({ serviceId, id }: PipeDetails): string {
  const { path } = describeCall("getPipe", { params: { serviceId, pipeId: id } });
  return `curl --user "$MILLRACE_KEY" ${location.origin}${path}`;
}

/** Replaces what the pipe logs in with. What is there is never shown. */
function SecretsDialog({ pipe, onClose }: { readonly pipe: PipeDetails; readonly onClose: () => void }) {
  const kind = kindOf(pipe);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const change = useChange("updatePipe", { changes: pipeReads });
  const fields = loginFields(pipe);
  const isEmpty = fields.some(({ path }) => (values[path] ?? "") === "");
  const save = () => {
    const members: Record<string, unknown> = {};
    for (const { path } of fields) {
      const [outer = "", inner] = path.split(".");
      const shown = (pipe.source[kind] as Record<string, unknown> | undefined)?.[outer];
      members[outer] =
        inner === undefined ? values[path] : { ...(members[outer] ?? shown ?? {}), [inner]: values[path] };
    }
    const params = { serviceId: pipe.serviceId, pipeId: pipe.id };
    change.mutateAsync({ params, body: { source: { [kind]: members } }, ifMatch: pipe.version } as never).then(
      () => {
        toast("The credentials are replaced.");
        onClose();
      },
      () => {},
    );
  };
  const error = change.error === null ? undefined : asApiError(change.error);
  return (
    <FormDialog
      {...{ title: "Replace credentials", action: "Replace", busy: change.isPending, onClose, onSubmit: save }}
      needs="developer"
      refusal={isEmpty ? "Fill in every field." : undefined}
      failure={error?.message}
    >
      {!sourceDescriptions[kind].hasInbox && <p>The server tries them before it takes them.</p>}
      {fields.map(({ path, label, input, isLong }) => {
        const shared = {
          label,
          value: values[path] ?? "",
          onChange: (text: string) => setValues({ ...values, [path]: text }),
          error: error?.issueAt(`source.${kind}.${path}`),
        };
        return input === "area" || isLong ? (
          <TextArea key={path} {...shared} mono />
        ) : (
          <TextField key={path} {...shared} type={input === "secret" ? "password" : "text"} />
        );
      })}
    </FormDialog>
  );
}
