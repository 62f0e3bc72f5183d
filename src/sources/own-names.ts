/** Names of what pipes make at their sources: they follow from the pipe's id. Loaded by workers, so without schemas. */

/** Of a consumer or a consumer group. */
export function ownName(pipeId: string): string {
  return `millrace-${pipeId}`;
}

/** Of a slot or a publication, which take no dashes. */
export function ownSqlName(pipeId: string): string {
  return `millrace_${pipeId.replaceAll("-", "_")}`;
}
