/** A typed client derived from the operation tables: used by other programs, the demo and the tests. */
import type { ClientInput, Operation, Result } from "./operation.ts";
import { managementOperations } from "./operations.ts";

export type ApiCredentials = { readonly baseUrl: string; readonly keyId: string; readonly keySecret: string };

export type ApiIssue = {
  readonly path: string;
  readonly message: string;
  readonly position?: number;
  readonly statement?: string;
};

type ErrorDocument = {
  readonly error?: string;
  readonly code?: string;
  readonly issues?: readonly ApiIssue[];
  readonly engine?: { readonly code: number; readonly name: string };
};

/** A response other than 200. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly issues: readonly ApiIssue[];
  /** Code and name of the engine's error, if the engine refused the request. */
  readonly engine: { readonly code: number; readonly name: string } | undefined;

  constructor(status: number, body: ErrorDocument) {
    super(body.error ?? `HTTP ${status}`);
    this.name = "ApiError";
    this.status = status;
    this.code = body.code;
    this.issues = body.issues ?? [];
    this.engine = body.engine;
  }
}

export type ApiClient = {
  readonly [Name in keyof typeof managementOperations]: (
    input: ClientInput<(typeof managementOperations)[Name]>,
  ) => Promise<Answer<(typeof managementOperations)[Name]>>;
};

type CallInput = {
  readonly params: Record<string, string>;
  readonly query?: Record<string, unknown>;
  readonly body?: unknown;
  readonly ifMatch?: number;
};

/** An operation that streams answers with the response itself, whose body is not read yet. */
type Answer<O extends Operation> = O extends { readonly streams: string } ? Response : Result<O>;

export function createApiClient(credentials: ApiCredentials): ApiClient {
  const authorization = `Basic ${Buffer.from(`${credentials.keyId}:${credentials.keySecret}`).toString("base64")}`;
  const call = (operation: Operation) => async (input: CallInput) => {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(input.params[name] ?? ""),
    );
    const url = new URL(path, credentials.baseUrl);
    for (const [name, value] of Object.entries(input.query ?? {})) url.searchParams.set(name, String(value));
    const response = await fetch(url, {
      method: operation.method,
      headers: {
        authorization,
        ...(input.body === undefined ? {} : { "content-type": "application/json" }),
        ...(input.ifMatch === undefined ? {} : { "if-match": `"${input.ifMatch}"` }),
      },
      ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
    });
    if (operation.streams !== undefined && response.status === 200) return response;
    const body = (await response.json()) as ErrorDocument & { result?: unknown };
    if (response.status !== 200) throw new ApiError(response.status, body);
    return body.result;
  };
  const entries = Object.entries(managementOperations).map(([name, operation]) => [name, call(operation)]);
  return Object.fromEntries(entries) as ApiClient;
}
