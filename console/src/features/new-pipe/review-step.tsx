import { useNavigate } from "@tanstack/react-router";
import { CircleCheck, CircleX } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { stringify } from "yaml";
import { sourceDescriptions } from "../../../../src/sources/contract/descriptions.ts";
import { holds } from "../../../../src/sources/contract/fields.ts";
import { call, describeCall, type OperationResult } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { labelAt } from "../../lib/source-words.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { fieldsOf, TextField } from "../../parts/field.tsx";
import { Note } from "../../parts/note.tsx";
import { Skeleton } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { toast } from "../../parts/toast.tsx";
import { useAttempt } from "../../parts/use-attempt.ts";
import { bodyOf, type Form, shownBody } from "./form.ts";
import css from "./new-pipe.module.css";
import { Refusal } from "./source-inputs.tsx";

type Validation = OperationResult<"validatePipe">;

type ReviewStepProps = {
  readonly form: Form;
  readonly change: (next: Partial<Form>) => void;
  readonly forget: () => Promise<void>;
  readonly show: (step: number) => void;
};

/** What will be created, what is checked, and what it promises. */
export function ReviewStep({ form, change, forget }: ReviewStepProps) {
  const navigate = useNavigate();
  const { attempt, busy, error: refused } = useAttempt();
  const { validation, error, isChecking, check } = useValidation(form);
  const refusal = form.name.trim() === "" ? "Name the pipe." : undefined;
  const params = { serviceId: form.serviceId };
  const create = (event: FormEvent) => {
    event.preventDefault();
    if (refusal !== undefined) return;
    void attempt(async () => {
      const { id, name } = await call("createPipe", { params, body: bodyOf(form) } as never);
      toast(`${name} is created.`, "info");
      await Promise.all([forget(), refetch("listAllPipes", "listServices")]);
      await navigate({ to: "/pipes/$serviceId/$pipeId", params: { ...params, pipeId: id }, ignoreBlocker: true });
    });
  };
  return (
    <form className="column" onSubmit={create} noValidate>
      <div className="cells pair">
        <TextField
          label="Name of the pipe"
          aria-required
          {...fieldsOf({ form, onChange: change, error: refused ?? error })("name")}
        />
      </div>
      {isChecking && <Skeleton lines={4} />}
      {validation !== undefined && <Checks {...validation} />}
      {error !== undefined && refused === undefined && <Refusal error={error} form={form} />}
      <Note>{guaranteeOf(form)}</Note>
      <SameAs form={form} />
      {refused !== undefined && <Refusal error={refused} form={form} />}
      <div className={`row ${css.actions}`}>
        <Button busy={isChecking} refusal={refusal} onClick={() => void check()}>
          Check again
        </Button>
        <Button type="submit" look="primary" needs="developer" busy={busy} refusal={refusal}>
          Create pipe
        </Button>
        {refusal !== undefined && <span className="muted">{refusal}</span>}
      </div>
    </form>
  );
}

/** Makes every check of a creation without creating, when the step opens and on request. */
function useValidation(form: Form) {
  const [validation, setValidation] = useState<Validation>();
  const { attempt, busy, error } = useAttempt();
  const check = () =>
    attempt(async () => {
      const body = bodyOf({ ...form, name: form.name.trim() || "unnamed" });
      setValidation(await call("validatePipe", { params: { serviceId: form.serviceId }, body } as never));
    });
  // biome-ignore lint/correctness/useExhaustiveDependencies: checked when the step opens, and on request
  useEffect(() => void check(), []);
  return { validation, error, isChecking: busy, check };
}

/** Checks that are not called like what they look at. */
const titles: Readonly<Record<string, string>> = {
  ...{ definition: "what was entered", service: "the service runs", limits: "limits of the organization" },
  ...{ neighbours: "no other pipe writes to the table", tableDefinition: "definition of the table" },
  ...{ mapping: "fields fit the columns", targetTables: "tables of the service", samples: "samples can be read" },
};

/** Each check in its order, with what is wrong and what helps. */
function Checks({ checks, warnings = [] }: Validation) {
  return (
    <>
      <ul className="group" aria-label="Checks">
        {checks.map(({ name, ok, ms, issues = [], remedy }) => (
          <li key={name} className={css.check}>
            {ok ? (
              <CircleCheck className="toned" data-tone="ok" role="img" aria-label="ok" />
            ) : (
              <CircleX className="toned" data-tone="bad" role="img" aria-label="failed" />
            )}
            <span>{titles[name] ?? name}</span>
            <span className="muted">{Math.round(ms)} ms</span>
            {issues.map(({ path, message }) => (
              <span key={`${path} ${message}`} className={css.issue}>
                {path !== "" && `${labelAt(path)}: `}
                {message}
              </span>
            ))}
            {remedy !== undefined && <span className={css.issue}>{remedy}</span>}
          </li>
        ))}
      </ul>
      {warnings.map(({ path, message }) => (
        <Note key={`${path} ${message}`} tone="warn">
          {labelAt(path)}: {message}
        </Note>
      ))}
    </>
  );
}

function guaranteeOf({ kind, values }: Form): string {
  if (kind === undefined) return "";
  return sourceDescriptions[kind].guarantees.find(({ when }) => holds(when, (path) => values[path]))?.text ?? "";
}

/** The same pipe as a file, a command and a request, without its secrets. */
function SameAs({ form }: { readonly form: Form }) {
  const [tab, setTab] = useState<"yaml" | "cli" | "curl">("yaml");
  const services = useOperation("listServices", {}, { pace: "never" });
  const service = services.data?.find(({ id }) => id === form.serviceId)?.name ?? form.serviceId;
  const texts = { yaml: yamlOf(form, service), cli: commandOf(form), curl: curlOf(form) };
  const labels = { yaml: "YAML file", cli: "command", curl: "curl command" };
  const tabs = (Object.keys(texts) as (keyof typeof texts)[]).map((value) => ({
    value,
    label: labels[value],
    content: <CodeBlock label={labels[value]} text={texts[value]} wrap={value !== "yaml"} />,
  }));
  return <Tabs label="The same pipe as" value={tab} onChange={setTab} tabs={tabs} />;
}

/** As `millrace apply` reads it. */
function yamlOf(form: Form, service: string): string {
  const { name, ...spec } = shownBody(form);
  return stringify({ kind: "Pipe", name: name || "unnamed", service, spec });
}

function commandOf(form: Form): string {
  return `# with the YAML in ${fileName(form)}, and the secrets in the environment\nmillrace apply -f ${fileName(form)} --wait`;
}

function curlOf(form: Form): string {
  const { method, path } = describeCall("createPipe", { params: { serviceId: form.serviceId }, body: {} as never });
  const body = JSON.stringify(shownBody(form)).replaceAll("'", `'\\''`);
  return `curl --user "$MILLRACE_KEY" -X ${method} ${location.origin}${path} \\\n  -H 'content-type: application/json' \\\n  -d '${body}'`;
}

function fileName({ name }: Form): string {
  return `${name.replaceAll(/[^\w-]+/g, "-") || "pipe"}.yaml`;
}
