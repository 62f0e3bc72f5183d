/** What a source contains, for users who choose what a pipe reads. */

/** Each connector fills the members of its kind. Sizes and counts that are not known are absent. */
export type SourceListing = {
  readonly topics?: ListedTopic[];
  readonly streams?: ListedStream[];
  readonly prefixes?: ListedPrefix[];
  readonly objects?: ListedObject[];
  /** Every schema, on the first page only. */
  readonly schemas?: { readonly name: string; readonly tables: number }[];
  readonly tables?: ListedTable[];
  /** Continues the listing; absent on the last page. */
  readonly nextCursor?: string;
};

export type ListedTopic = {
  readonly name: string;
  readonly partitions: number;
  /** Offsets between the first and the last message: an upper bound for compacted topics. */
  readonly messages?: number;
};

export type ListedStream = { readonly name: string; readonly openShards?: number };

export type ListedPrefix = {
  readonly prefix: string;
  readonly objects?: number;
  readonly bytes?: number;
  /** There are more objects than were counted. */
  readonly hasMore?: boolean;
};

export type ListedObject = { readonly key: string; readonly bytes: number };

export type ListedTable = {
  readonly schema: string;
  readonly name: string;
  /** Rows as of the last ANALYZE or VACUUM. */
  readonly estimatedRows?: number;
  /** With TOAST and all partitions, without indexes. */
  readonly bytes?: number;
  readonly isPartitioned: boolean;
  readonly isReadable: boolean;
  readonly primaryKey: string[];
  readonly replicaIdentity: "default" | "nothing" | "full" | "index";
  readonly publications: string[];
  readonly columns: ListedColumn[];
};

export type ListedColumn = {
  readonly name: string;
  /** As the source prints it. */
  readonly type: string;
  readonly nullable: boolean;
  /** The destination column's type with `allowNullableColumns`. */
  readonly destinationType: string;
};

export type ListingPage = {
  /** Where to look: a prefix of object keys, or a schema. */
  readonly within: string | undefined;
  readonly cursor: string | undefined;
  /** Maximum number of topics, streams, tables, or prefixes and objects together. */
  readonly limit: number;
};
