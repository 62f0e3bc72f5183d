/**
 * Passes the requests of the service's own clients on to its external server, as the user of the connection: those of
 * the endpoint, and statements of the API. The server's grants apply to them, and no guard: the server is not ours.
 */
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { basicAuthorization, ClickHouseClient } from "../../clickhouse/client.ts";
import { clickHouseException } from "../../clickhouse/exception.ts";
import { type Host, hostHealth } from "../../clickhouse/hosts.ts";
import type { DatabasePrincipal } from "../../endpoint/auth/logins.ts";
import { bodyHeaders, passedHeadersOf } from "../../endpoint/handoff/passed-headers.ts";
import type { QueryServer, ServeOptions } from "../../endpoint/handoff/query-server.ts";
import { killQuery } from "../../engine/chdb/kill.ts";
import { hopHeaders } from "../../lib/hop-headers.ts";
import { request } from "../../lib/node-http.ts";
import { type ExternalAddress, urlOf } from "./addresses.ts";

/** Parameters that would choose another user of the server. */
const credentialNames = new Set(["user", "password"]);

type Sending = {
  readonly message: IncomingMessage;
  readonly parameters: URLSearchParams;
  readonly host: Host;
  readonly principal: DatabasePrincipal;
  readonly signal: AbortSignal;
};

export class ExternalQueries implements QueryServer {
  readonly #address: ExternalAddress;
  readonly #hosts: readonly Host[];
  readonly #agent: ReturnType<ExternalAddress["openAgent"]>;

  constructor(address: ExternalAddress) {
    this.#address = address;
    this.#hosts = [{ host: address.host, port: address.port }, ...(address.others ?? [])];
    this.#agent = address.openAgent();
  }

  /** Rejects with an exception to send, and only before any part of the response is sent. */
  async serve(
    message: IncomingMessage,
    response: ServerResponse,
    principal: DatabasePrincipal,
    { signal }: ServeOptions,
  ): Promise<void> {
    if (principal.restricted) {
      // All requests run as the user of the connection, whose rights are others.
      const text = "The grants of this user were made in the embedded engine and do not hold on this service's server.";
      throw clickHouseException("ACCESS_DENIED", text);
    }
    if (principal.readonly > 0 && /multipart/i.test(message.headers["content-type"] ?? "")) {
      // Fields of a form are parameters, and one could ask for more rights.
      throw clickHouseException("READONLY", "A read-only user of this service cannot send forms.");
    }
    const parameters = this.#parametersOf(message, principal);
    const host = this.#hostFor(parameters);
    response.once("close", () => {
      if (!response.writableFinished) void this.#cancel(host, parameters.get("query_id") ?? "");
    });
    const answer = await this.#send({ message, parameters, host, principal, signal });
    response.writeHead(answer.statusCode ?? 502, headersOf(answer.headers));
    // A response that breaks off ends in a broken connection.
    await pipeline(answer, response).catch(() => response.destroy());
  }

  close(): void {
    this.#agent.destroy();
  }

  async #cancel(host: Host, queryId: string): Promise<void> {
    const { others: _, ...address } = this.#address;
    const client = new ClickHouseClient({ ...address, ...host });
    await killQuery(client, address.user ?? "", queryId);
    client.close();
  }

  /**
   * A host that works, as far as is known: a body that has begun to flow cannot be sent to another one. A session and
   * its temporary tables are on one host, which every server of the installation finds by the session's name.
   */
  #hostFor(parameters: URLSearchParams): Host {
    const session = parameters.get("session_id") ?? "";
    const [first = this.#address] =
      session === "" ? hostHealth.order(this.#hosts) : hostHealth.orderFor(this.#hosts, session);
    return { host: first.host, port: first.port };
  }

  #parametersOf(message: IncomingMessage, principal: DatabasePrincipal): URLSearchParams {
    const given = new URLSearchParams((message.url ?? "").split("?").slice(1).join("?"));
    const parameters = new URLSearchParams();
    for (const [name, value] of given) {
      if (credentialNames.has(name)) continue;
      // All of our users are one user of the server, but must not share sessions.
      const own = name === "session_id" && value !== "" ? `${principal.user}/${value}` : value;
      if (principal.readonly === 0 || name !== "readonly") parameters.append(name, own);
    }
    if (!given.has("query_id")) parameters.set("query_id", randomUUID());
    if (principal.readonly > 0) parameters.set("readonly", "2");
    const { database } = this.#address;
    if (database !== undefined && !given.has("database") && message.headers["x-clickhouse-database"] === undefined) {
      parameters.set("database", database);
    }
    return parameters;
  }

  #send({ message, parameters, host: chosen, principal, signal }: Sending): Promise<IncomingMessage> {
    const { user, password, tls } = this.#address;
    const { host, port } = chosen;
    const headers = {
      "x-forwarded-for": principal.address,
      ...passedHeadersOf(message.headers, bodyHeaders),
      ...basicAuthorization(user, password),
    };
    const protocol = tls === undefined ? "http:" : "https:";
    const { method } = message;
    const agent = this.#agent;
    return new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request({ protocol, host, port, method, path: `/?${parameters}`, headers, agent, signal });
      sent.on("response", (answer) => {
        hostHealth.answered(chosen);
        resolve(answer);
      });
      sent.on("error", (cause) => {
        const hasClientLeft = message.destroyed && !message.complete;
        if (!signal.aborted && !hasClientLeft) hostHealth.failed(chosen);
        const text = `The service's server ${urlOf({ ...this.#address, host, port })} does not answer.`;
        reject(clickHouseException("NETWORK_ERROR", text, { cause }));
      });
      pipeline(message, sent).catch(() => {});
    });
  }
}

function headersOf(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !hopHeaders.has(name));
  return Object.fromEntries(kept) as Record<string, string | string[]>;
}
