/** What pipes make at their sources, whose names follow from the pipe's id. Loaded by workers, so without schemas. */

/** Something that a pipe makes at its source. */
export type SourceObject = {
  readonly kind: "slot" | "publication" | "consumer" | "consumerGroup";
  readonly name: string;
};

/** Looks at what costs the source something while no worker runs. */
export type SourceWatch = {
  /** One short look, with a connection of its own. Throws SOURCE_* when the source does not answer. */
  look(): Promise<{
    readonly gauges: Readonly<Record<string, number>>;
    /** What is in danger, with the remedy. */
    readonly warning?: string | undefined;
  }>;
};

/** The name of a consumer or a consumer group. */
export function ownName(pipeId: string): string {
  return `millrace-${pipeId}`;
}

/** The name of a slot or a publication, which take no dashes. */
export function ownSqlName(pipeId: string): string {
  return `millrace_${pipeId.replaceAll("-", "_")}`;
}
