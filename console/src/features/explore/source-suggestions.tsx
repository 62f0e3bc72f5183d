import { ChartLine, Plus } from "lucide-react";
import { call, type OperationResult } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { NoServiceState } from "../../parts/no-service.tsx";
import { Panel } from "../../parts/page.tsx";
import { ServiceAway } from "../../parts/service-away.tsx";
import { Answer, EmptyState } from "../../parts/states.tsx";
import { toast, toastError } from "../../parts/toast.tsx";
import css from "./explore.module.css";

type Suggestion = OperationResult<"suggestSources">["data"][number];

/** Tables with a time column, of every service. A service that sleeps is asked when it is awake again. */
export function SourceSuggestions({ isFirst = false }: { readonly isFirst?: boolean }) {
  const services = useOperation("listServices", {}, { pace: "slow" });
  return (
    <Answer query={services}>
      {(list) =>
        list.length === 0 ? (
          <NoServiceState>and load a table with times.</NoServiceState>
        ) : (
          <>
            {isFirst && (
              <EmptyState icon={ChartLine} title="No source yet">
                A source says which table a chart reads, and which column is the time. Choose one of the tables that
                were found.
              </EmptyState>
            )}
            {list.map(({ id, name, state }) => (
              <OfService key={id} serviceId={id} name={name} isRunning={state === "running" || state === "degraded"} />
            ))}
          </>
        )
      }
    </Answer>
  );
}

function OfService({
  serviceId,
  name,
  isRunning,
}: {
  readonly serviceId: string;
  readonly name: string;
  readonly isRunning: boolean;
}) {
  const query = useOperation(
    "suggestSources",
    { params: {}, query: { serviceId, wake: "never" } },
    { pace: "never", enabled: isRunning },
  );
  if (!isRunning) return <ServiceAway serviceId={serviceId} reads={[]} />;
  return (
    <Panel title={`Tables of ${name}`}>
      <Answer query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <p>No table with a time column was found.</p>
          ) : (
            <ul className={css.suggestions}>
              {data.map((suggestion) => (
                <li key={suggestion.name}>
                  <span>
                    <strong>{suggestion.name}</strong> {suggestion.kind}, time{" "}
                    {suggestion.timestampValueExpression ?? "TimeUnix"}
                  </span>
                  <Button small needs="developer" icon={Plus} onClick={() => void create(suggestion)}>
                    Use {suggestion.name}
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  );
}

async function create(body: Suggestion): Promise<void> {
  try {
    await call("createSource", { params: {}, body });
    await refetch("listSources", "suggestSources");
    toast(`${body.name} is a source now.`);
  } catch (error) {
    toastError(error);
  }
}
