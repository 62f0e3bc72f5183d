/** What the checks of each kind share. */
import type pg from "pg";
import type { Issue } from "../../../lib/errors.ts";
import type { CheckRun } from "../../contract/checks.ts";
import type { Query } from "../../contract/source.ts";
import type { SourceTable } from "../declaration/durable.ts";
import type { RelationalDbConfig, SourceServer } from "../declaration/kind.ts";
import type { KnownPipe } from "./known-pipe.ts";

export type PreflightOptions = {
  /** Where the destination tables are. */
  readonly database: string;
  readonly query: Query;
  /** The pipe exists already, so its slot may be active and its tables full. */
  readonly known?: KnownPipe | undefined;
  readonly run: CheckRun;
  /** Receives what the tables lose. */
  readonly warn?: (warning: Issue) => void;
};

/** What the checks of one kind are given. */
export type Preflight = {
  readonly client: pg.Client;
  readonly source: SourceServer;
  readonly config: RelationalDbConfig;
  readonly server: ServerFacts;
  /** The mapped tables that exist, by `tableKey`. */
  readonly tables: ReadonlyMap<string, SourceTable>;
  readonly known: KnownPipe | undefined;
};

export type ServerFacts = {
  /** 160004 for 16.4. */
  readonly version: number;
  readonly walLevel: string;
  readonly standby: boolean;
  readonly slots: number;
  readonly maxSlots: number;
  readonly mayCreate: boolean;
  readonly user: string;
};

/** False for `replicationMode: "snapshot"`, which needs nothing but the right to read. */
export function followsLog(config: RelationalDbConfig): boolean {
  return config.settings?.replicationMode !== "snapshot";
}

export function tableKey(schema: string, name: string): string {
  return JSON.stringify([schema, name]);
}

/** An issue of the source; `path` is below `source.relationalDb`. */
export function issue(path: string, message: string): Issue {
  return { path: `source.relationalDb.${path}`, message };
}
