/** The typed client of the command line: operations by name, with types of `src/api` and no schema at run time. */
import type { IncomingMessage } from "node:http";
import type { ClientInput, Result } from "../../api/operation.ts";
import type { ManagementOperations, ObservabilityOperations } from "../../api/operations.ts";
import type { FoundCredentials } from "../credentials/find.ts";
import { answerError, CliError, exitCodes } from "../errors.ts";
import { bodyText, send } from "./http.ts";
import { type Route, routes } from "./operations.ts";

type Operations = ManagementOperations & ObservabilityOperations;
export type OperationName = keyof Operations;

/** The client adds `organizationId`. */
export type CallInput<Name extends OperationName> = Omit<ClientInput<Operations[Name]>, "params"> & {
  readonly params?: Omit<ClientInput<Operations[Name]>["params"], "organizationId">;
};

export type OperationResult<Name extends OperationName> = Result<Operations[Name]>;

type RawInput = {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
};

export class CliClient {
  readonly credentials: FoundCredentials;
  readonly #signal: AbortSignal;
  #organizationId: string | undefined;

  constructor(credentials: FoundCredentials, signal: AbortSignal) {
    this.credentials = credentials;
    this.#signal = signal;
    this.#organizationId = credentials.organizationId;
  }

  /** The result of an operation. Throws a CliError for any other status than 2xx. */
  async call<Name extends OperationName>(name: Name, input: CallInput<Name>): Promise<OperationResult<Name>> {
    const response = await this.open(name, input as RawInput);
    const body = parsed(await bodyText(response)) as { result?: unknown };
    // Responses of the observability API have no envelope.
    return (routes[name].api === "management" ? body?.result : body) as OperationResult<Name>;
  }

  /** The response of an operation, whose body is not read yet. Throws as `call` does. */
  async open(name: OperationName, input: RawInput, signal = this.#signal): Promise<IncomingMessage> {
    return await this.raw({ ...(await this.request(name, input)), signal });
  }

  /** What `open` sends. */
  async request(name: OperationName, input: RawInput): Promise<{ method: string; path: string; body: unknown }> {
    const route: Route = routes[name];
    const params = { ...input.params } as Record<string, unknown>;
    if (route.path.includes("{organizationId}")) params.organizationId ??= await this.organizationId();
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(String(params[key] ?? "")));
    const query = new URLSearchParams();
    for (const key of route.query) {
      const value = input.query?.[key];
      if (value !== undefined) query.set(key, String(value));
    }
    const suffix = query.size === 0 ? "" : `?${query}`;
    return { method: route.method, path: `${path}${suffix}`, body: input.body };
  }

  /** Any request with the credentials of the path's API. Throws a CliError for any other status than 2xx. */
  async raw(request: { method: string; path: string; body?: unknown; signal?: AbortSignal }): Promise<IncomingMessage> {
    const { method, path, body, signal = this.#signal } = request;
    const base = path.startsWith("/api/") ? this.credentials.observabilityBaseUrl : this.credentials.baseUrl;
    const response = await send({
      method,
      url: new URL(path, base),
      headers: {
        authorization: this.#authorization(path),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
      signal,
    });
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    throw answerError(status, parsed(await bodyText(response)));
  }

  /** The organization of the key. */
  async organizationId(): Promise<string> {
    if (this.#organizationId === undefined) {
      const [organization] = await this.call("listOrganizations", {});
      this.#organizationId = organization?.id ?? "";
    }
    return this.#organizationId;
  }

  #authorization(path: string): string {
    const { keyId, keySecret, accessToken } = this.credentials;
    if (!path.startsWith("/api/")) return `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString("base64")}`;
    if (accessToken === undefined) throw noAccessToken();
    return `Bearer ${accessToken}`;
  }
}

function noAccessToken(): CliError {
  return new CliError("charts, sources, alerts and webhooks need an access token, and these credentials have none", {
    exitCode: exitCodes.unauthorized,
    code: "UNAUTHORIZED",
    hint: "Set MILLRACE_ACCESS_TOKEN, or store a token in the context: millrace token create NAME --save",
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
