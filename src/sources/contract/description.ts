/**
 * What a kind of source is called, asks for and can do, as plain data: the API, the command line and the console loop
 * over it. It imports no schemas, because a command would load them longer than it runs.
 */
import type { Condition, SourceField } from "./fields.ts";

/** A way to log in to a source. Its members are secret, or name what the secret belongs to. */
export type SourceLogin = {
  /** Conditions on the members that are not secret. */
  readonly when: readonly Condition[];
  /** Dotted paths; each has a field. */
  readonly members: readonly string[];
};

export type SourceDescription = {
  /** Word of the command line: `millrace pipe create kafka`. */
  readonly word: string;
  /** Word of the ClickHouse Cloud API, where it is not the key. */
  readonly cloudWord?: string;
  /** A word or two for a list of pipes. */
  readonly label: string;
  /** What a pipe reads: "topics of a Kafka-protocol broker". */
  readonly reads: string;
  /** A pipe's source in a line, with members between braces. The first whose members are there is shown. */
  readonly summaries: readonly string[];
  /** What is read, in a few words, in the same form. */
  readonly named: readonly string[];
  /** Word for each of the parts of the source whose progress is told by itself. */
  readonly lane?: string;
  /** What a pipe promises. The first whose conditions hold. */
  readonly guarantees: readonly { readonly when: readonly Condition[]; readonly text: string }[];
  readonly group: "messages" | "applications" | "objects" | "databases";
  /** Values of `type`, each with its name; one without a type for a kind that has no such member. */
  readonly vendors: readonly {
    readonly type?: string;
    readonly label: string;
    /** Members that the choice sets, by their paths. */
    readonly values?: Readonly<Record<string, string>>;
  }[];
  readonly fields: readonly SourceField[];
  /** What the source's listing offers, and the member that a choice of it sets: a request for a listing may omit it. */
  readonly listing: { readonly of: "topics" | "streams" | "objects" | "tables" | "nothing"; readonly member: string };
  /** When the connector creates the tables, so that a request names their database alone. Default: never. */
  readonly ownsTables?: readonly Condition[];
  /** What a pipe makes at its source, and removes when it is deleted. */
  readonly makes?: string;
  /** Rows are sent to the pipe: the server keeps them until they are loaded. */
  readonly hasInbox?: true;
  /** Dotted paths that a patch request may change; unchanged immutable members are tolerated by the handler. */
  readonly mutable: readonly string[];
  /** Dotted paths that are encrypted at rest and absent from responses. */
  readonly secrets: readonly string[];
  /** The first is the usual one. */
  readonly logins: readonly SourceLogin[];
  /** A member that two pipes should not have in common, and the effect of it as the end of a sentence. */
  readonly sharedMember?: { readonly member: string; readonly effect: string };
  /** Beginnings of the names of the settings that have an effect. */
  readonly settings: readonly string[];
  /** The setting that lets all nodes of the destination's cluster read. */
  readonly spreadsWith?: string;
  /** Workers are sized by the service's CDC scaling. */
  readonly hasCdcScaling?: true;
  /** Rows are changed and deleted, so that a table has to be on one shard. */
  readonly changesRows?: true;
  /** A pipe of the kind, for the examples of the API. Its destination, if it is not one table. */
  readonly example: {
    readonly title: string;
    readonly name: string;
    readonly source: object;
    readonly destination?: object;
  };
};
