/** Calls operations by name, with the types of `src/api` and no schema at run time. */
import type { ClientInput, Operation, Result } from "../../../src/api/operation.ts";
import type { ManagementOperations, ObservabilityOperations } from "../../../src/api/operations.ts";
import { type Route, routes } from "../../../src/cli/client/operations.ts";
import { noteReached, noteUnreachable } from "./connection.ts";
import { takeEarly } from "./early.ts";
import { ApiError, type ErrorDocument, unreachable } from "./error.ts";
import { noteDate } from "./server-time.ts";
import { sessionStore, signedOut } from "./session-state.ts";

type Operations = ManagementOperations & ObservabilityOperations;
export type OperationName = keyof Operations;

/** `organizationId` is the session's unless it is given. */
export type CallInput<Name extends OperationName> = InputOf<Operations[Name]>;
type InputOf<O extends Operation> = Omit<ClientInput<O>, "params"> & ParamsOf<ClientInput<O>["params"]>;
type ParamsOf<P> = string extends keyof P
  ? { readonly params?: Record<string, never> }
  : keyof Omit<P, "organizationId"> extends never
    ? { readonly params?: Partial<P> }
    : { readonly params: Omit<P, "organizationId"> & { readonly organizationId?: string } };

export type OperationResult<Name extends OperationName> = ResultOf<Operations[Name]>;
/** Responses of the observability API have no envelope. */
type ResultOf<O extends Operation> = Result<O>;

type RawInput = {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly ifMatch?: number;
};

/** The result of an operation. Throws ApiError for any other status than 2xx, and if there is no response. */
export async function call<Name extends OperationName>(
  name: Name,
  input: CallInput<Name>,
  signal?: AbortSignal,
): Promise<OperationResult<Name>> {
  const response = await open(name, input, signal);
  const body = (await response.json()) as { result?: unknown };
  return (routes[name].api === "management" ? body.result : body) as OperationResult<Name>;
}

/** The response of an operation, whose body is not read yet: for those that stream. Throws as `call` does. */
export async function open<Name extends OperationName>(
  name: Name,
  input: CallInput<Name>,
  signal?: AbortSignal,
): Promise<Response> {
  const raw = input as RawInput;
  const { method }: Route = routes[name];
  const headers: Record<string, string> = {};
  if (raw.ifMatch !== undefined) headers["if-match"] = `"${raw.ifMatch}"`;
  const response = await request(method, pathOf(name, raw), { body: raw.body, headers, signal });
  if (response.ok) return response;
  const error = await errorOf(response);
  if (error.status === 401) signedOut("expired");
  throw error;
}

/** Address and method of a call, as for `curl`. */
export function describeCall<Name extends OperationName>(name: Name, input: CallInput<Name>) {
  const raw = input as RawInput;
  return { method: routes[name].method, path: pathOf(name, raw), body: raw.body };
}

type RequestOptions = {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
};

/** Any request with the headers that the server requires of its own pages. Throws ApiError if there is no response. */
export async function request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const { body, headers, signal } = options;
  const json: Record<string, string> = method === "GET" ? {} : { "content-type": "application/json" };
  try {
    const init = {
      method,
      headers: { "x-millrace-console": "1", ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    const response = await ((method === "GET" ? takeEarly(path) : undefined) ?? fetch(path, init));
    noteReached();
    noteDate(response.headers.get("date"));
    return response;
  } catch (error) {
    if (signal?.aborted) throw error;
    noteUnreachable();
    throw unreachable();
  }
}

/** The error that a response tells. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  const retryAfter = Number(response.headers.get("retry-after"));
  return new ApiError(response.status, parsed(text), retryAfter > 0 ? retryAfter : undefined);
}

function pathOf(name: OperationName, { params, query }: RawInput): string {
  const route: Route = routes[name];
  const organizationId = sessionStore.get().identity?.organization.id;
  const values: Record<string, unknown> = { organizationId, ...params };
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(String(values[key] ?? "")));
  const search = new URLSearchParams();
  for (const key of route.query) {
    const value = query?.[key];
    if (value !== undefined && value !== "") search.set(key, String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

function parsed(text: string): ErrorDocument {
  try {
    return JSON.parse(text) as ErrorDocument;
  } catch {
    return {};
  }
}
