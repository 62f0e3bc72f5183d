/** The facts of one statement: collected by the rules, judged together with the request by the guard. */

import type { AccessChange } from "../../../clickhouse/access-change.ts";

export type StatementKind = "read" | "set" | "kill" | "insert" | "change" | "define" | "system" | "access";

export type Facts = {
  readonly kind: StatementKind;
  /** True when a read-only user may run it. */
  readonly readOnly: boolean;
  /** True when it needs more disk. */
  takesDisk: boolean;
  /** Names in function position that are on no list: user-defined functions and views, or unknown names. */
  readonly unknown: Set<string>;
  /** Functions that the statement defines for itself, `x -> x + 1 AS f`. */
  readonly lambdas: Set<string>;
  /** Functions of users in parts that run without a user. */
  readonly unknownOutOfQuery: Set<string>;
  /** A function that reads another object in such a part. */
  readsObject?: string;
  /** Names that may be a table after IN, and parameters of type Identifier there. */
  readonly memberships: Set<string>;
  readonly memberParameters: Set<string>;
  /** Parameters of type Identifier in positions where a function could be named. */
  readonly identifiers: Set<string>;
  /** All parameters of type Identifier. */
  readonly nameParameters: Set<string>;
  /** Other parameters that name a table or a dictionary. */
  readonly tableParameters: Set<string>;
  /** Values of parameters that SET keeps for the session. */
  readonly parameters: string[];
  /** Texts inside the statement that the engine parses as statements or expressions, as statements to be judged. */
  readonly nested: string[];
  /** Addresses of object storage in the statement. */
  readonly addresses: Set<string>;
  /** The format after INSERT ... FORMAT; otherwise undefined. */
  format?: string;
  /** True when a table function has a bare word among its arguments, which must not be an alias. */
  bareWords?: boolean;
  /** True for an EXPLAIN that shows columns of tables without a grant. */
  showsColumns?: string;
  /** A quoted name that the engine could take for the path of a file. */
  filePath?: string;
  /** A function whose dictionary is named without quotes, as a column would be. */
  bareDictionary?: string;
  /** Such a function, which takes no column: only aliases of a statement around this text could stand for the name. */
  queriedDictionary?: string;
  /** The object that ATTACH restores. */
  attached?: string;
  /** What a statement about users, roles or grants changes, by its parameters; the engine does not run it. */
  access?: (parameters: readonly (readonly [string, string])[]) => AccessChange;
  /** INSERT ... SELECT: `"input"` when it reads the data of the request, `"tables"` when it does not. */
  selects?: "input" | "tables";
};

/** Facts of a statement before any rule has run. */
export function emptyFacts(kind: StatementKind, readOnly: boolean): Facts {
  return {
    kind,
    readOnly,
    takesDisk: kind === "insert",
    unknown: new Set(),
    lambdas: new Set(),
    unknownOutOfQuery: new Set(),
    memberships: new Set(),
    memberParameters: new Set(),
    identifiers: new Set(),
    nameParameters: new Set(),
    tableParameters: new Set(),
    parameters: [],
    nested: [],
    addresses: new Set(),
  };
}

/** Bytes of a statement that the engine parses (`max_query_size`); data of an INSERT does not count. */
export const maxStatementBytes = 262_144;
