/**
 * Statements about users, roles and grants of services: stored, known to the endpoint, and loaded by the engine, which
 * reads users at its start. The engine is restarted for it: statements wait for the new one, and those that run have
 * a few seconds to end.
 */
import * as z from "zod/mini";
import type { AccessChange } from "../clickhouse/access-change.ts";
import { clickHouseException } from "../clickhouse/exception.ts";
import type { Logger } from "../lib/logger.ts";
import type { Limit } from "../store/database/limits.ts";
import type { SqlAccessStore } from "../store/services/sql-access.ts";
import type { ServiceAccess } from "./access.ts";
import type { RunningEngine } from "./runtime.ts";

/** How long the engine may take to be taken out of service. */
const withdrawTimeoutMs = 15_000;

// An engine host could be in the hands of an attacker: nothing that it sends may make the store unreadable.
const text = z.string().check(z.minLength(1), z.maxLength(1_000));
const texts = z.array(text).check(z.minLength(1), z.maxLength(500));
const name = z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/));
const newNames = z.array(name).check(z.minLength(1), z.maxLength(500));
const hash = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const ifPresent = z.enum(["fail", "skip", "replace"]);
const ifMissing = z.enum(["fail", "skip"]);
const pattern = z.strictObject({ name: text, prefix: z.exactOptional(z.boolean()) });
const privilege = z.strictObject({
  privilege: z.string().check(z.regex(/^[A-Za-z ]{1,60}$/)),
  columns: z.exactOptional(texts),
  database: z.exactOptional(pattern),
  table: z.exactOptional(pattern),
  object: z.exactOptional(text),
});
const privileges = z.array(privilege).check(z.minLength(1), z.maxLength(1_000));

const accessChange: z.core.$ZodType<AccessChange> = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("create users"), names: newNames, ifPresent, passwordSha256: hash }),
  z.strictObject({ type: z.literal("set password"), names: texts, ifMissing, passwordSha256: hash }),
  z.strictObject({ type: z.literal("create roles"), names: newNames, ifPresent }),
  z.strictObject({ type: z.enum(["drop users", "drop roles"]), names: texts, ifMissing }),
  z.strictObject({ type: z.enum(["grant", "revoke"]), privileges, names: texts }),
  z.strictObject({ type: z.literal("revoke all"), names: texts }),
  z.strictObject({ type: z.enum(["grant roles", "revoke roles"]), roles: texts, names: texts }),
]);

export type AccessChangesOptions = {
  readonly sqlAccess: SqlAccessStore;
  readonly access: ServiceAccess;
  /** Limits users, and roles. */
  readonly limit: Limit;
  /** Resolves when the endpoint knows the stored users. */
  readonly usersKnown: () => Promise<void>;
  /** Triggers a pass of the reconciler. */
  readonly poke: () => void;
  /** Why no users may be made; undefined when they may. */
  readonly usersProblem?: string | undefined;
  readonly logger: Logger;
};

/**
 * Applies one statement that `engine` has received. Resolves when later statements have the new rights. Rejects with
 * the exception for the client.
 */
export async function changeServiceAccess(
  { sqlAccess, access, limit, usersKnown, poke, usersProblem, logger }: AccessChangesOptions,
  serviceId: string,
  engine: RunningEngine,
  received: unknown,
): Promise<void> {
  const parsed = z.safeParse(accessChange, received);
  if (!parsed.success) throw clickHouseException("BAD_ARGUMENTS", "The statement has too many or too long names.");
  const change = parsed.data;
  if (change.type === "create users" && usersProblem !== undefined) {
    throw clickHouseException("ACCESS_DENIED", usersProblem);
  }
  if (!(await sqlAccess.apply(serviceId, change, limit))) return;
  logger.info({ serviceId, change: change.type, names: change.names }, "users or rights changed by a statement");
  await usersKnown();
  // Passwords are the endpoint's matter.
  if ((await engine.knowsRights?.(serviceId)) !== false) return;
  access.rightsChanged(serviceId);
  poke();
  await access.withdrawn(serviceId, engine, withdrawTimeoutMs);
}
