import { useState } from "react";
import { useChange } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Note } from "../../parts/note.tsx";
import { Facts } from "../../parts/page.tsx";
import { Secret } from "../../parts/secret.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { toastError } from "../../parts/toast.tsx";
import type { Service } from "./service.ts";
import css from "./services.module.css";
import { snippetsFor } from "./snippets.ts";

type ConnectDialogProps = {
  readonly service: Service;
  /** Known only right after the service was created. */
  readonly password?: string;
  readonly onClose: () => void;
};

/** Everything that a client needs, with snippets that work as they are. */
export function ConnectDialog({ service, password, onClose }: ConnectDialogProps) {
  const [tab, setTab] = useState("curl");
  const [endpoint] = service.endpoints;
  if (endpoint === undefined) {
    return (
      <Dialog open title={`Connect to ${service.name}`} onClose={onClose}>
        <Note>The service gets its address when it starts for the first time.</Note>
      </Dialog>
    );
  }
  const tabs = snippetsFor(service.endpoints).map(({ value, label, text }) => ({
    value,
    label,
    content: <CodeBlock text={text} label={`${label} snippet`} />,
  }));
  return (
    <Dialog open wide title={`Connect to ${service.name}`} onClose={onClose}>
      <StateNote service={service} />
      <Facts
        facts={[
          ["Host", <Copied key="host" text={endpoint.host} />],
          ["Port", <Copied key="port" text={String(endpoint.port)} />],
          ["User", <Copied key="user" text={endpoint.username} />],
          ["Protocol", `ClickHouse over ${endpoint.protocol.toUpperCase()}`],
        ]}
      />
      <Password service={service} known={password} />
      <Tabs label="Client" value={tab} onChange={setTab} tabs={tabs} />
    </Dialog>
  );
}

function Copied({ text }: { readonly text: string }) {
  return (
    <span className={css.endpoint}>
      <code>{text}</code>
      <CopyButton text={text} label={`Copy ${text}`} />
    </span>
  );
}

function StateNote({ service }: { readonly service: Service }) {
  if (service.state === "stopped") return <Note tone="warn">The service is stopped. Start it before you connect.</Note>;
  if (service.state !== "idle") return null;
  return <Note>The service is asleep. The first query wakes it in about 0.2 s.</Note>;
}

/** The password as it was just made; otherwise the offer to make a new one. */
function Password({ service, known }: { readonly service: Service; readonly known: string | undefined }) {
  const change = useChange("updateServicePassword", { changes: [] });
  const [asked, setAsked] = useState(false);
  const password = change.data?.password ?? known;
  const reset = () => change.mutate({ params: { serviceId: service.id }, body: {} }, { onError: toastError });
  if (password !== undefined) {
    return (
      <>
        <Secret label="Password" value={password} fileName={`${service.name}-password.txt`} />
        <Note tone="warn">Keep the password now: it is not shown again. A new one can be made at any time.</Note>
      </>
    );
  }
  if (!asked) {
    return (
      <div>
        <Button small needs="admin" onClick={() => setAsked(true)}>
          Reset password
        </Button>
      </div>
    );
  }
  return (
    <Note tone="warn">
      <p>Clients that use the present password are refused from then on.</p>
      <p style={{ display: "flex", gap: "var(--space-2)", marginTop: "var(--space-2)" }}>
        <Button small look="danger" needs="admin" busy={change.isPending} onClick={reset}>
          Make a new password
        </Button>
        <Button small onClick={() => setAsked(false)}>
          Cancel
        </Button>
      </p>
    </Note>
  );
}
