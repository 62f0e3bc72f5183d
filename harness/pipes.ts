/** Pipes in tests: a small orders table, its pipe, and waiting for states. */
import type { ClientInput } from "../src/api/operation.ts";
import type { pipeOperations } from "../src/api/pipes.ts";
import { balanced } from "./accounting.ts";
import { accessKey, type TestStore } from "./objects/pipe-stores.ts";
import { type BenchService, query, type Served, until } from "./serve.ts";

export type PipeBody = ClientInput<(typeof pipeOperations)["createPipe"]>["body"];

export const columns = [
  { name: "id", type: "UInt64" },
  { name: "name", type: "String" },
];

/** Rows `from` to `to - 1` as newline-delimited JSON. */
export function rows(from: number, to: number): string {
  return Array.from({ length: to - from }, (_, i) => JSON.stringify({ id: from + i, name: `name ${from + i}` })).join(
    "\n",
  );
}

/** Members of a pipe's body that a test adds or replaces. */
export type More = { readonly source?: object; readonly destination?: object; readonly body?: object };

export function pipeBody(store: TestStore, pattern: string, table: string, more: More = {}): PipeBody {
  const objectStorage = { url: store.url(pattern), authentication: "IAM_USER", accessKey, ...more.source };
  return bodyInto(table, { objectStorage }, more);
}

/** A pipe into a new orders table, whatever the source. */
export function bodyInto(table: string, source: object, more: Pick<More, "destination" | "body">): PipeBody {
  return {
    name: `pipe into ${table}`,
    source,
    destination: {
      table,
      managedTable: true,
      tableDefinition: { engine: { type: "MergeTree" }, sortingKey: ["id"] },
      columns,
      ...more.destination,
    },
    fieldMappings: columns.map(({ name }) => ({ sourceField: name, destinationField: name })),
    ...more.body,
  } as PipeBody;
}

export async function createPipe(served: Served, service: BenchService, body: PipeBody): Promise<string> {
  return (await served.api.createPipe({ params: service.params, body })).id;
}

/** Throws also when rows of the pipe are not accounted for, at whatever moment it is called. */
export async function details(served: Served, service: BenchService, pipeId: string) {
  const pipe = await served.api.getPipe({ params: { ...service.params, pipeId } });
  balanced(pipe.progress);
  return pipe;
}

export async function untilState(
  served: Served,
  service: BenchService,
  pipeId: string,
  state: string,
  limitMs?: number,
) {
  let last = "";
  await until(
    `pipe ${state}`,
    async () => {
      const now = await details(served, service, pipeId);
      last = `${now.state} ${now.lastError ?? ""}`;
      if (now.state === "Failed" && state !== "Failed") throw new Error(`pipe failed: ${now.lastError}`);
      return now.state === state;
    },
    limitMs,
  ).catch(async (error: Error) => {
    const table = /see (\S+?)[.;]/.exec(last)?.[1];
    const reasons =
      table === undefined ? "" : await query(service, `SELECT * FROM ${table} LIMIT 3 FORMAT JSONEachRow`);
    throw new Error(`${error.message}; last seen: ${last} ${reasons}`);
  });
}

/** Waits for rows of a table; on timeout, reports the state of the service's pipes. */
export async function untilRows(served: Served, service: BenchService, table: string, count: number) {
  let seen = "";
  await until(`${count} rows in ${table}`, async () => {
    seen = await query(service, `SELECT count() FROM ${table}`).catch((error: Error) => error.message);
    return Number(seen) >= count;
  }).catch(async (error: Error) => {
    const pipes = await served.api.listPipes({ params: service.params });
    const states = await Promise.all(pipes.map(({ id }) => details(served, service, id)));
    const words = states.map(({ name, state, lastError }) => `${name}: ${state} ${lastError ?? ""}`);
    throw new Error([error.message, `last seen: ${seen}`, ...words].join("; "));
  });
}

/** Waits until the pipe is Degraded for this reason. */
export async function untilDegraded(
  served: Served,
  service: BenchService,
  pipeId: string,
  why: RegExp,
  limitMs?: number,
): Promise<void> {
  let seen = "";
  const degraded = async () => {
    const { state, lastError } = await details(served, service, pipeId);
    seen = `${state} ${lastError}`;
    return state === "Degraded" && why.test(lastError ?? "");
  };
  await until(`the pipe is degraded: ${why}`, degraded, limitMs).catch((error: Error) => {
    throw new Error(`${error.message}; ${seen}`);
  });
}
