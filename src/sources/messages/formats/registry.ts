/**
 * The read side of a Confluent-compatible schema registry: schemas by id, with their references. An id always means the
 * same schema, so found schemas are cached; an unknown id is requested again after a while.
 */
import { request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import { AppError, describeError, memberError } from "../../../lib/errors.ts";
import { request as httpRequest } from "../../../lib/node-http.ts";
import { connectionFailure } from "../../../outgoing/connection-failure.ts";
import { addressRefusalOf, type Dialer } from "../../../outgoing/dialer.ts";
import { type Agents, agentsOf } from "../../../outgoing/http.ts";

export type RegistryConfig = {
  readonly url: string;
  readonly caCertificate?: string | undefined;
  readonly credentials?: { readonly username: string; readonly password: string } | undefined;
};

export type RegisteredSchema = {
  readonly type: "AVRO" | "PROTOBUF" | "JSON";
  readonly schema: string;
  /** Referenced schemas, dependencies first. */
  readonly references: readonly { readonly name: string; readonly schema: string }[];
};

type Reference = RegisteredSchema["references"][number];

const timeoutMs = 10_000;
/** Like Node's own agent: a registry may close an idle connection at the moment of its reuse. */
const agentOptions = { keepAlive: true, timeout: 5_000 };
const unknownForMs = 5_000;
const maxReferences = 200;
const maxAnswerBytes = 16_000_000;
/** A schema with all its references has at most as many. */
const maxSchemaCharacters = 16_000_000;
/** Limits all cached schemas, and ids that are cached as unknown: what is forgotten is asked for again. */
const cached = { characters: 64_000_000, unknown: 10_000 };

type RegistryAnswer = {
  schema: string;
  schemaType?: string;
  references?: { name: string; subject: string; version: number }[];
};

export class SchemaRegistry {
  readonly #config: RegistryConfig;
  readonly #agents: Agents;
  readonly #field: string;
  readonly #known = new Map<number, RegisteredSchema>();
  readonly #unknown = new Map<number, number>();
  readonly #asked = new Map<number, Promise<void>>();
  #characters = 0;

  constructor(config: RegistryConfig, dialer: Dialer) {
    this.#config = config;
    this.#agents = agentsOf(dialer, agentOptions);
    this.#field = dialer.field;
  }

  /** The cached schema of the id, or null when the registry does not have it. */
  known(id: number): RegisteredSchema | null | undefined {
    const schema = this.#known.get(id);
    if (schema !== undefined) return schema;
    const until = this.#unknown.get(id);
    return until !== undefined && performance.now() < until ? null : undefined;
  }

  /** Requests the id, so that it is known afterwards. Throws SOURCE_* when the registry does not answer. */
  async ask(id: number): Promise<void> {
    const running = this.#asked.get(id) ?? this.#fetch(id).finally(() => this.#asked.delete(id));
    this.#asked.set(id, running);
    await running;
  }

  /** Throws SOURCE_* unless the registry answers and accepts the credentials. */
  async check(): Promise<void> {
    await this.#get("/subjects");
  }

  async #fetch(id: number): Promise<void> {
    const answer = await this.#answer(`/schemas/ids/${id}`);
    if (answer === undefined) {
      if (this.#unknown.size >= cached.unknown) this.#unknown.clear();
      this.#unknown.set(id, performance.now() + unknownForMs);
      return;
    }
    const references: Reference[] = [];
    await this.#collect(answer.references ?? [], references, new Set());
    const type = (answer.schemaType ?? "AVRO") as RegisteredSchema["type"];
    this.#keep(id, { type, schema: answer.schema, references });
  }

  /** The oldest ones make room. */
  #keep(id: number, schema: RegisteredSchema): void {
    this.#known.set(id, schema);
    this.#characters += charactersOf(schema);
    for (const [oldest, old] of this.#known) {
      if (this.#characters <= cached.characters || oldest === id) return;
      this.#known.delete(oldest);
      this.#characters -= charactersOf(old);
    }
  }

  async #collect(
    references: NonNullable<RegistryAnswer["references"]>,
    into: Reference[],
    seen: Set<string>,
  ): Promise<void> {
    for (const { name, subject, version } of references) {
      const key = `${name}\n${subject}\n${version}`;
      if (seen.has(key)) continue;
      seen.add(key);
      if (seen.size > maxReferences) throw new AppError("SOURCE_INVALID", "A schema has too many references.");
      const found = await this.#answer(`/subjects/${encodeURIComponent(subject)}/versions/${version}`);
      if (found === undefined) {
        throw new AppError("SOURCE_INVALID", `The schema registry has no version ${version} of subject "${subject}".`);
      }
      await this.#collect(found.references ?? [], into, seen);
      into.push({ name, schema: found.schema });
      const characters = into.reduce((sum, reference) => sum + reference.schema.length, 0);
      if (characters > maxSchemaCharacters)
        throw new AppError("SOURCE_INVALID", "A schema's references are too large.");
    }
  }

  async #answer(path: string): Promise<RegistryAnswer | undefined> {
    try {
      return answerOf(await this.#get(path));
    } catch (error) {
      throw error instanceof AppError ? error : this.#unreachable(describeError(error));
    }
  }

  /** The sentence names the address without its credentials and path. */
  #unreachable(reason: string, cause?: unknown): AppError {
    const { host } = new URL(this.#config.url);
    const message = connectionFailure(cause, host) ?? `${host} does not answer like a schema registry: ${reason}`;
    return memberError("SOURCE_UNREACHABLE", this.#field, message, cause);
  }

  /** The JSON at a path; undefined when it does not exist. */
  async #get(path: string): Promise<unknown> {
    const { status, body } = await this.#request(path).catch((error: unknown) => {
      throw addressRefusalOf(error) ?? this.#unreachable(describeError(error), error);
    });
    if (status === 404) return undefined;
    if (status === 401 || status === 403) {
      const member = this.#field.replace(/url$/, "credentials");
      throw memberError("SOURCE_UNAUTHORIZED", member, "the schema registry does not accept them");
    }
    if (status !== 200) throw this.#unreachable(`it answered with status ${status}`);
    try {
      return JSON.parse(body) as unknown;
    } catch {
      throw this.#unreachable("its answer is not JSON");
    }
  }

  async #request(path: string): Promise<{ status: number; body: string }> {
    const { url, caCertificate, credentials } = this.#config;
    const target = new URL(`${url.replace(/\/+$/, "")}${path}`);
    const isTls = target.protocol === "https:";
    const send = isTls ? httpsRequest : httpRequest;
    const agent = isTls ? this.#agents.https : this.#agents.http;
    const headers: Record<string, string> = { Accept: "application/vnd.schemaregistry.v1+json, application/json" };
    if (credentials !== undefined) {
      const pair = Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64");
      headers.Authorization = `Basic ${pair}`;
    }
    return await new Promise((resolve, reject) => {
      const outgoing = send(target, { agent, headers, ca: caCertificate, timeout: timeoutMs });
      outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
      outgoing.on("error", reject);
      outgoing.on("response", (response) => {
        textOf(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      });
      outgoing.end();
    });
  }
}

async function textOf(answer: Readable): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxAnswerBytes) throw new Error(`its answer is larger than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** The answer, with the members that are used. Throws for one that no registry gives. */
function answerOf(answer: unknown): RegistryAnswer | undefined {
  if (answer === undefined) return undefined;
  const { schema, schemaType, references } = (answer ?? {}) as Partial<Record<string, unknown>>;
  const isText = (value: unknown) => typeof value === "string" && value.isWellFormed();
  const isReference = (one: unknown) => {
    const { name, subject, version } = (one ?? {}) as Partial<Record<string, unknown>>;
    return isText(name) && isText(subject) && Number.isInteger(version);
  };
  const areReferences = references == null || (Array.isArray(references) && references.every(isReference));
  if (!isText(schema) || !(schemaType == null || isText(schemaType)) || !areReferences) {
    throw new Error("its answer is not a schema");
  }
  return { schema, schemaType, references } as RegistryAnswer;
}

function charactersOf({ schema, references }: RegisteredSchema): number {
  return references.reduce((sum, reference) => sum + reference.schema.length, schema.length);
}
