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
import type { AskAsUser } from "./session-statement.ts";

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
  readonly client: Pick<ClickHouseClient, "text" | "rows" | "stream">;
  /** Asks the engine as one of its users. */
  readonly askAs: (user: string) => AskAsUser;
  /** Those with a connection to the engine that rests, the one that rests longest first. */
  readonly resting: Set<{ dropKept(): void }>;
  readonly logger: LineLogger;
};
