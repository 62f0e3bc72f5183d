/** What samples of a source show before a pipe exists. */

/** A field of the source's samples, with the type that the engine infers. */
export type FoundField = { readonly name: string; readonly type: string; readonly optional: boolean };

export type Discovery = { readonly fields: readonly FoundField[]; readonly samples: readonly SampleRow[] };

/** A sample as it arrives and as the engine reads it. Values larger than a JSON number are strings. */
export type SampleRow = {
  /** The beginning of its bytes as text; absent where a row has no bytes of its own. */
  readonly raw?: string;
  readonly parsed?: Readonly<Record<string, unknown>>;
  /** Why it cannot be read. */
  readonly problem?: string;
};
