import { useState } from "react";
import { stringify } from "yaml";
import { describeCall } from "../../api/client.ts";
import { useOperation } from "../../api/queries.ts";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { type Form, shownBody } from "./form.ts";

/** The same pipe as a file, a command and a request, without its secrets. */
export function SameAs({ form }: { readonly form: Form }) {
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
