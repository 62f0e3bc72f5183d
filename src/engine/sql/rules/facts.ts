/** What reading one statement found out; collected by the rules, judged together with the request by the guard. */

export type StatementKind = "read" | "set" | "kill" | "insert" | "change" | "define" | "system";

export type Facts = {
  readonly kind: StatementKind;
  /** True when a user who may only read may run it. */
  readonly readOnly: boolean;
  /** True when it takes more disk. */
  takesDisk: boolean;
  /** Names in the place of a function that no list holds: functions and views that users have made, or nothing. */
  readonly unknown: Set<string>;
  /** Parameters of type Identifier that stand where a function could be named. */
  readonly identifiers: Set<string>;
  /** Values of parameters that SET keeps for the session. */
  readonly parameters: string[];
  /** Texts inside the statement that are statements or expressions themselves, as statements to be judged. */
  readonly nested: string[];
  /** Addresses of object storage that the statement names. */
  readonly addresses: Set<string>;
  /** The format behind INSERT ... FORMAT; undefined for the rest. */
  format?: string;
  /** True when a table function has a bare word among its arguments, which must not be the alias of something. */
  bareWords?: boolean;
  /** True for a dictionary, whose keys the formatter writes without quotes. */
  bareNames?: boolean;
  /** What ATTACH brings back. */
  attached?: string;
  /** INSERT ... SELECT: `"input"` when it reads the data of the request, `"tables"` when it does not. */
  selects?: "input" | "tables";
};

/** Facts of a statement before any rule has looked at it. */
export function emptyFacts(kind: StatementKind, readOnly: boolean): Facts {
  return {
    kind,
    readOnly,
    takesDisk: kind === "insert",
    unknown: new Set(),
    identifiers: new Set(),
    parameters: [],
    nested: [],
    addresses: new Set(),
  };
}
