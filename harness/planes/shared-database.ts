/** The environment of processes of Millrace that share this metadata database. */
export function sharedEnvironment(database: string): Record<string, string> {
  return { MILLRACE_DATABASE: database, MILLRACE_SECRET_KEY: Buffer.alloc(32, 9).toString("base64") };
}
