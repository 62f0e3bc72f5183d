/** What the push address knows of pipes: read from the store once, until a service or pipe changes. */
import { notFound } from "../../lib/errors.ts";
import { fullConfig } from "../../pipes/control/definition/definition.ts";
import { kindOf } from "../../sources/contract/registry.ts";
import type { PushConfig } from "../../sources/push/declaration/kind.ts";
import type { Pipe, PipeStore } from "../../store/pipes/pipes.ts";
import type { Service, ServiceStore } from "../../store/services/services.ts";

export type PushPipe = {
  readonly pipe: Pipe;
  readonly service: Service;
  /** With its secrets. */
  readonly config: PushConfig;
  /** Pipes of the same service. */
  readonly neighbours: readonly string[];
};

export type PushPipesOptions = {
  readonly pipes: Pick<PipeStore, "find" | "secrets" | "listIn">;
  readonly services: Pick<ServiceStore, "find">;
  /** Raised by every write of a service or pipe. */
  readonly revision: () => number;
};

/** Throws NOT_FOUND. */
export async function requirePushPipe(
  { pipes, services }: Omit<PushPipesOptions, "revision">,
  organizationId: string,
  pipeId: string,
): Promise<void> {
  const pipe = await pipes.find(pipeId);
  const service = pipe && (await services.find(pipe.serviceId));
  const hasInbox = pipe !== undefined && kindOf(pipe.sourceKind).hasInbox === true;
  if (!hasInbox || service?.organizationId !== organizationId) throw notFound("Push pipe", pipeId);
}

export class PushPipes {
  readonly #options: PushPipesOptions;
  #known = new Map<string, PushPipe | Promise<PushPipe | undefined>>();
  #revision = -1;

  constructor(options: PushPipesOptions) {
    this.#options = options;
  }

  /** Undefined: there is none to which rows can be sent. Without a promise where it is known. */
  find(id: string): PushPipe | Promise<PushPipe | undefined> {
    const revision = this.#options.revision();
    if (revision !== this.#revision) {
      this.#known = new Map();
      this.#revision = revision;
    }
    return this.#known.get(id) ?? this.#begin(id);
  }

  #begin(id: string): Promise<PushPipe | undefined> {
    // Those of a later revision are others.
    const known = this.#known;
    const reading = this.#read(id);
    known.set(id, reading);
    const forget = () => void known.delete(id);
    reading.then((found) => (found === undefined ? forget() : known.set(id, found)), forget);
    return reading;
  }

  async #read(id: string): Promise<PushPipe | undefined> {
    const { pipes, services } = this.#options;
    const pipe = await pipes.find(id);
    if (pipe === undefined || kindOf(pipe.sourceKind).hasInbox !== true || pipe.desiredState === "deleted")
      return undefined;
    const service = await services.find(pipe.serviceId);
    const secrets = await pipes.secrets(id);
    if (service === undefined || service.desiredState === "deleted" || secrets === undefined) return undefined;
    const neighbours = (await pipes.listIn(service.id)).map((other) => other.id);
    return { pipe, service, config: fullConfig(pipe, secrets) as PushConfig, neighbours };
  }
}
