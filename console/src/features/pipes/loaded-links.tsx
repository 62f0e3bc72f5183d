import { useNavigate } from "@tanstack/react-router";
import { ChartLine, SquareTerminal } from "lucide-react";
import { call } from "../../api/client.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { newChart } from "../../charts/definition.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { Button } from "../../parts/button.tsx";
import { toastError } from "../../parts/toast.tsx";
import type { PipeDetails } from "./use-pipe.ts";

/** From a pipe to the rows that it has loaded. */
export function LoadedLinks({ pipe: { serviceId, destination } }: { readonly pipe: PipeDetails }) {
  const navigate = useNavigate();
  const sources = useOperation("listSources", { params: {} }, { pace: "slow" });
  const { database = "default", table } = destination;
  if (!table) return null;
  const isOfTable = (from: unknown) => {
    const { databaseName, tableName } = (from ?? {}) as { databaseName?: string; tableName?: string };
    return databaseName === database && tableName === table;
  };
  const query = `SELECT *\nFROM ${quotedName(database ?? "default")}.${quotedName(table)}\nLIMIT 100`;
  const explore = async () => {
    const known = sources.data?.data.find((source) => source.serviceId === serviceId && isOfTable(source.from));
    const id = known?.id ?? (await newSource());
    if (id !== undefined) void navigate({ to: "/explore", search: { chart: newChart(id) } as never });
    else void navigate({ to: "/explore", search: {} as never });
  };
  /** A source as the server suggests it for the table; undefined where it has no column of times. */
  const newSource = async () => {
    const { data } = await call("suggestSources", { params: {}, query: { serviceId, wake: "auto" } });
    const body = data.find(({ from }) => isOfTable(from));
    if (body === undefined) return undefined;
    const { data: made } = await call("createSource", { params: {}, body });
    await refetch("listSources");
    return made.id;
  };
  return (
    <>
      <Button
        small
        icon={SquareTerminal}
        onClick={() => void navigate({ to: "/sql", search: { service: serviceId, q: query } })}
      >
        Open in SQL
      </Button>
      <Button small icon={ChartLine} onClick={() => void explore().catch(toastError)}>
        Explore
      </Button>
    </>
  );
}
