/** The statements that this key has run, kept by the server: they outlive the sleep of the service and this browser. */
import { call } from "../../api/client.ts";
import { asApiError } from "../../api/error.ts";
import { refetch, useOperation } from "../../api/queries.ts";
import { serverNow } from "../../api/server-time.ts";
import type { RunState } from "../../grid/query-run.ts";

export type Outcome = "done" | "limited" | "cancelled" | "failed";

export type PastStatement = {
  readonly text: string;
  readonly outcome: Outcome;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly ms: number;
  /** How many its result has; undefined for a statement without one. */
  readonly rows?: number;
  readonly written?: number;
  /** Why it failed. */
  readonly error?: string;
};

const most = 100;
const longestText = 4_000;
/** Below the size that the server allows for an object. */
const mostCharacters = 200_000;

/** Ended by the page at its limit is not a failure. */
export function outcomeOf({ status, cutAt }: Pick<RunState, "status" | "cutAt">): Outcome {
  if (status === "done" && cutAt !== undefined) return "limited";
  return status === "running" ? "cancelled" : status;
}

/** The history with a statement that has ended, newest first; a repeated one is there once. */
export function withStatement(before: readonly PastStatement[], state: RunState, now: number): PastStatement[] {
  const { statement, elapsedMs, rowCount, columns, writtenRows, error } = state;
  const one: PastStatement = {
    text: statement.trim().slice(0, longestText),
    outcome: outcomeOf(state),
    at: Math.round(now - elapsedMs),
    ms: Math.round(elapsedMs),
    ...(columns.length === 0 ? {} : { rows: rowCount }),
    ...(writtenRows === 0 ? {} : { written: writtenRows }),
    ...(error === undefined ? {} : { error: error.message.slice(0, 300) }),
  };
  const all = [one, ...before.filter(({ text }) => text !== one.text)].slice(0, most);
  while (JSON.stringify(all).length > mostCharacters) all.pop();
  return all;
}

const nameBegin = "History of ";

/** Objects with the history are drafts of the key, and are not shown as such. */
export function isHistory({ name }: { readonly name: string }): boolean {
  return name.startsWith(nameBegin);
}

function objectOf(list: readonly { readonly id: string; readonly name: string }[], serviceId: string) {
  return list.find(({ name }) => name === `${nameBegin}${serviceId}`);
}

/** Undefined while it is read. */
export function usePast(serviceId: string): readonly PastStatement[] | undefined {
  const list = useOperation("listSavedObjects", {}, { pace: "slow" });
  const id = list.data && objectOf(list.data, serviceId)?.id;
  const object = useOperation(
    "getSavedObject",
    { params: { savedObjectId: id ?? "" } },
    { pace: "never", enabled: id !== undefined },
  );
  if (id === undefined) return list.data && [];
  return object.data && pastOf(object.data.content);
}

function pastOf(content: Readonly<Record<string, unknown>>): readonly PastStatement[] {
  return Array.isArray(content.statements) ? (content.statements as PastStatement[]) : [];
}

let keeping = Promise.resolve();

/** Adds a statement that has ended. A history that cannot be kept costs no result. */
export function keepPast(serviceId: string, state: RunState): Promise<void> {
  const now = serverNow();
  keeping = keeping.then(() => add(serviceId, state, now)).catch(() => undefined);
  return keeping;
}

async function add(serviceId: string, state: RunState, now: number, attempts = 3): Promise<void> {
  const known = objectOf(await call("listSavedObjects", { query: { kind: "draft" } }), serviceId);
  const name = `${nameBegin}${serviceId}`;
  try {
    if (known === undefined) {
      const content = { statements: withStatement([], state, now) };
      await call("createSavedObject", { body: { kind: "draft", name, content } });
    } else {
      const params = { savedObjectId: known.id };
      const { version, content } = await call("getSavedObject", { params });
      const statements = withStatement(pastOf(content), state, now);
      await call("updateSavedObject", { params, body: { version, content: { statements } } });
    }
  } catch (error) {
    // Another page of this key was faster.
    if (asApiError(error).status !== 409 || attempts <= 1) throw error;
    return await add(serviceId, state, now, attempts - 1);
  }
  await refetch("listSavedObjects", "getSavedObject");
}
