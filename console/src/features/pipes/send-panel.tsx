import { Link } from "@tanstack/react-router";
import { useChange, useOperation } from "../../api/queries.ts";
import { newChart } from "../../charts/definition.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Note } from "../../parts/note.tsx";
import { Panel } from "../../parts/page.tsx";
import { Secret } from "../../parts/secret.tsx";
import { kindOf, type PipeDetails } from "./use-pipe.ts";

/** How applications send to the pipe, and whether anything has arrived. */
export function SendPanel({ pipe }: { readonly pipe: PipeDetails }) {
  const { id, name, source, progress } = pipe;
  const { format } = (source[kindOf(pipe)] ?? {}) as { readonly format?: string };
  const url = `${location.origin}/v1/push/${id}`;
  const isTelemetry = format === "otlp";
  const create = useChange("createKey", { changes: ["listKeys"] });
  const made = create.data && `${create.data.keyId}.${create.data.keySecret}`;
  const action = (
    <Button
      needs="admin"
      busy={create.isPending}
      onClick={() => create.mutate({ body: { name: `push to ${name}`.slice(0, 50), roles: ["push"], pipeId: id } })}
    >
      Create a key for senders
    </Button>
  );
  return (
    <Panel title={isTelemetry ? "Send telemetry" : "Send rows"} actions={action}>
      <div className="group">
        {isTelemetry ? (
          <CodeBlock
            label="environment variables"
            text={`OTEL_EXPORTER_OTLP_ENDPOINT=${url}\nOTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20KEY_ID.KEY_SECRET`}
          />
        ) : (
          <CodeBlock
            label="curl command"
            text={`curl ${url} \\\n  -H 'x-api-key: KEY_ID.KEY_SECRET' \\\n  --data-binary @rows`}
          />
        )}
        {create.error !== null && <Note tone="bad">{create.error.message}</Note>}
        {made !== undefined && <Secret label="KEY_ID.KEY_SECRET" value={made} fileName="push.key" />}
        {progress.sentRows ? isTelemetry && <Charts pipe={pipe} /> : <Note>{awaited(progress, isTelemetry)}</Note>}
      </div>
    </Panel>
  );
}

/** What is waited for until a row is loaded. */
export function awaited({ acceptedRows, lagMessages }: PipeDetails["progress"], isTelemetry: boolean): string {
  if (acceptedRows || lagMessages) return `${isTelemetry ? "Telemetry has" : "Rows have"} arrived; none is loaded yet.`;
  return isTelemetry ? "Waiting for the first span, log record or metric." : "Waiting for the first row.";
}

/** Links to a chart of each of the pipe's sources. */
function Charts({ pipe: { serviceId, destination } }: { readonly pipe: PipeDetails }) {
  const sources = useOperation("listSources", { params: {} }, { pace: "slow" });
  const { database } = destination;
  const own = sources.data?.data.filter(
    (source) => source.serviceId === serviceId && source.from.databaseName === database && /^otel_/.test(source.name),
  );
  return (
    <Note>
      Telemetry has arrived.
      {own?.map(({ id, name }) => (
        <span key={id}>
          {" "}
          <Link to="/explore" search={{ chart: newChart(id) } as never}>
            Chart of {name}
          </Link>
        </span>
      ))}
    </Note>
  );
}
