/** Addresses of screens that several features link to; a feature imports nothing of another one. */

/** The page of a pipe. */
export function pipeAddress(serviceId: string, pipeId: string): string {
  return `/pipes/${serviceId}/${pipeId}`;
}
