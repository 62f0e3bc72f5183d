/** Chooses the ports of services' endpoints, which never change afterwards. */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { AppError } from "../../lib/errors.ts";
import type { PortRange } from "../../lib/port-range.ts";

export type ServicePortsOptions = {
  /** The address that endpoints listen on. */
  readonly host: string;
  /** Undefined: services have no ports of their own. */
  readonly range: PortRange | undefined;
  /** The flag of the range. */
  readonly setting?: string;
  /** All existing services. */
  readonly services: () => Promise<readonly PortHolder[]>;
};

type PortHolder = { readonly port: number; readonly name: string; readonly organizationId: string };

/** Numbers below zero mark services that were created without a port: the store has one number per service. */
const mostMarks = 2 ** 31 - 1;

/** The port that the service has; undefined: none. */
export function servicePortOf({ port }: { readonly port: number }): number | undefined {
  return port < 0 ? undefined : port;
}

export class ServicePorts {
  readonly #options: ServicePortsOptions;
  /** Reserved, and not yet in the store. */
  readonly #given = new Set<number>();

  constructor(options: ServicePortsOptions) {
    this.#options = options;
  }

  /**
   * A port of the range that no service has and nobody listens on now, or a mark where services have none. Throws
   * LIMIT_REACHED when every port is taken.
   */
  async pick(): Promise<number> {
    const { host, range } = this.#options;
    const services = new Set((await this.#options.services()).map(({ port }) => port));
    if (range === undefined) return -randomInt(1, mostMarks);
    for (const port of services) this.#given.delete(port);
    const count = range.last - range.first + 1;
    // Servers that share a machine begin at different ports, so that they do not compete for the same one.
    const start = randomInt(count);
    for (let i = 0; i < count; i += 1) {
      const port = range.first + ((start + i) % count);
      if (services.has(port) || this.#given.has(port)) continue;
      this.#given.add(port);
      if ((await problemOfPort(host, port)) === undefined) return port;
      this.#given.delete(port);
    }
    throw new AppError(
      "LIMIT_REACHED",
      `Every port of ${this.#options.setting ?? "--service-ports"} ${range.first}-${range.last} is taken.`,
    );
  }

  /**
   * Throws CONFLICT when the port belongs to another service or cannot be bound now, BAD_REQUEST when none has one. The
   * service is named to its own organization only.
   */
  async require(port: number, organizationId: string): Promise<void> {
    if (this.#options.range === undefined) {
      const message = "must be absent: the server runs with --service-ports none";
      throw new AppError("BAD_REQUEST", `port ${message}.`, { issues: [{ path: "port", message }] });
    }
    const service = (await this.#options.services()).find((one) => one.port === port);
    const owner = service?.organizationId === organizationId ? `service "${service.name}"` : "another service";
    const problem = service === undefined ? await problemOfPort(this.#options.host, port) : `belongs to ${owner}`;
    if (problem === undefined) return;
    const issues = [{ path: "port", message: problem }];
    throw new AppError("CONFLICT", `Port ${port} ${problem}.`, { issues });
  }
}

/** The reason why the port cannot be bound, without technical terms. */
export function listenProblem(error: NodeJS.ErrnoException): string {
  if (error.code === "EADDRINUSE") return "is in use by another program";
  if (error.code === "EACCES") return "is not open to this user";
  return `cannot be opened (${error.code ?? error.message})`;
}

function problemOfPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((done) => {
    const probe = createServer();
    probe.once("error", (error) => done(listenProblem(error)));
    probe.listen({ host, port }, () => probe.close(() => done(undefined)));
  });
}
