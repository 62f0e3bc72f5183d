import { useState } from "react";
import { type CallInput, describeCall, type OperationName } from "../api/client.ts";
import { CodeBlock } from "./code-block.tsx";
import { Dialog } from "./dialog.tsx";
import { Tabs } from "./tabs.tsx";

type RequestDialogProps<Name extends OperationName> = {
  readonly title: string;
  readonly operation: Name;
  readonly input: CallInput<Name>;
  /** What the page shows of the object. */
  readonly value?: unknown;
  /** The same on the command line. */
  readonly command?: string;
  readonly onClose: () => void;
};

/** How to do the same without the console: the object as JSON, the request for curl, the command. */
export function RequestDialog<Name extends OperationName>(props: RequestDialogProps<Name>) {
  const { title, operation, input, value, command, onClose } = props;
  const [tab, setTab] = useState(value === undefined ? "curl" : "json");
  const tabs = [
    { value: "json", label: "JSON", text: value === undefined ? undefined : JSON.stringify(value, null, 2) },
    { value: "curl", label: "curl", text: curlOf(describeCall(operation, input)) },
    { value: "command", label: "Command line", text: command },
  ];
  const shown = tabs.flatMap(({ value: key, label, text }) =>
    text === undefined ? [] : [{ value: key, label, content: <CodeBlock text={text} label={label} /> }],
  );
  return (
    <Dialog open wide title={title} onClose={onClose}>
      <Tabs label="Form" value={tab} onChange={setTab} tabs={shown} />
    </Dialog>
  );
}

/** A request for curl, with the key in the environment. */
export function curlOf({ method, path, body }: ReturnType<typeof describeCall>): string {
  const url = `'${location.origin}${path}'`;
  const auth = path.startsWith("/api/")
    ? '-H "Authorization: Bearer $MILLRACE_ACCESS_TOKEN"'
    : '-u "$MILLRACE_KEY_ID:$MILLRACE_KEY_SECRET"';
  const verb = method === "GET" ? "" : ` -X ${method}`;
  const json = JSON.stringify(body, null, 2)?.replaceAll("'", "'\\''");
  const data = json === undefined ? "" : ` \\\n  -H 'Content-Type: application/json' \\\n  -d '${json}'`;
  return `curl${verb} ${auth} \\\n  ${url}${data}`;
}
