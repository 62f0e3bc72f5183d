/** What the connections of the native protocol need of their engine host. */
import type { AccessChange } from "../../clickhouse/access-change.ts";
import type { ClickHouseClient } from "../../clickhouse/client.ts";
import type { Splicer } from "../../endpoint/splice/splicer.ts";
import type { LineLogger } from "../../lib/deferred-logger.ts";
import type { EngineUser } from "../chdb/users.ts";
import type { DiskQuota } from "../disk-quota.ts";
import type { Guard } from "../sql/guard.ts";
import type { GuardQuery } from "../sql/guard-query.ts";
import type { SealedPool } from "./sealed-pool.ts";

/** A connection whose last answer may or may not have ended. */
export type Unsettled = {
  /** The id of its last query; undefined: it has none. */
  readonly unsettled: string | undefined;
  /** Tells whether the engine still runs it. */
  settle(isRunning: boolean): void;
};

export type NativeOptions = {
  readonly displayName: string;
  readonly pool: SealedPool;
  readonly splicer: Splicer;
  readonly guard: Pick<Guard, "judge">;
  readonly guardQuery: GuardQuery;
  readonly users: readonly EngineUser[];
  readonly disk: Pick<DiskQuota, "isFull" | "requireRoom">;
  readonly changeAccess: (change: AccessChange) => Promise<void>;
  /** Authenticated as the internal user. */
  readonly client: Pick<ClickHouseClient, "text" | "stream">;
  /** Asks the engine as one of its users. Rejects with its exception. */
  readonly askAs: (user: string, sql: string, settings?: Readonly<Record<string, string>>) => Promise<string>;
  /** Asks the engine whether the session's last query runs. Never rejects. */
  readonly settle: (session: Unsettled) => Promise<void>;
  /** Those with a connection to the engine that rests, the one that rests longest first. */
  readonly resting: Set<{ dropKept(): void }>;
  readonly logger: LineLogger;
};
