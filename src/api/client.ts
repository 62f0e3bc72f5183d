/** A typed client derived from the operation tables: used by the command line, the demo and the tests. */
import type { ClientInput, Operation, Result } from "./operation.ts";
import { managementOperations } from "./operations.ts";

export type ApiCredentials = { readonly baseUrl: string; readonly keyId: string; readonly keySecret: string };

/** A response other than 200. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly issues: readonly { path: string; message: string }[];

  constructor(status: number, body: { error?: string; code?: string; issues?: { path: string; message: string }[] }) {
    super(body.error ?? `HTTP ${status}`);
    this.name = "ApiError";
    this.status = status;
    this.code = body.code;
    this.issues = body.issues ?? [];
  }
}

export type ApiClient = {
  readonly [Name in keyof typeof managementOperations]: (
    input: ClientInput<(typeof managementOperations)[Name]>,
  ) => Promise<Result<(typeof managementOperations)[Name]>>;
};

type CallInput = {
  readonly params: Record<string, string>;
  readonly query?: Record<string, unknown>;
  readonly body?: unknown;
  readonly ifMatch?: number;
};

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
    const body = (await response.json()) as { result?: unknown; error?: string };
    if (response.status !== 200) throw new ApiError(response.status, body);
    return body.result;
  };
  const entries = Object.entries(managementOperations).map(([name, operation]) => [name, call(operation)]);
  return Object.fromEntries(entries) as ApiClient;
}
