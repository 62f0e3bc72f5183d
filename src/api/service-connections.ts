/** How the servers of external services are reached, and what does not apply to such services. */

import { z } from "zod";
import { plainText } from "./operation.ts";
import { defaultRuntime, type RuntimeKind, runtimeTraits } from "./runtimes.ts";

const maxCertificate = 65_536;

const serverUrl = z
  .string()
  .max(512)
  .refine((text) => serverUrlProblem(text) === undefined, { error: (issue) => serverUrlProblem(String(issue.input)) });

const tls = z.strictObject({
  caCertificate: z
    .string()
    .max(maxCertificate)
    .regex(/-----BEGIN CERTIFICATE-----/, { error: "must be one or more certificates in PEM" })
    .optional()
    .describe("Certificates in PEM that are trusted instead of the public authorities"),
});

/** The shown part of a connection. */
export const connectionMembers = {
  urls: z
    .array(serverUrl)
    .min(1)
    .max(16)
    .describe("HTTP interface of the server, or of the hosts of one cluster: scheme, host and port"),
  username: plainText(1, 255).regex(/^[^:]*$/, { error: "must not contain a colon" }),
  cluster: plainText(1, 255).optional().describe("Cluster of the server's configuration on which tables are created"),
  database: plainText(1, 200).optional().describe("Database of names without one; default: `default`"),
  tls: tls.optional().describe("For `https` URLs"),
};

const serverPassword = z.string().max(1024).describe("Kept encrypted, and never shown");

/** How the server of an external service is reached. */
export const serverConnection = z.strictObject({ ...connectionMembers, password: serverPassword });

/** `null` removes a member. */
export const connectionChange = z.strictObject({
  urls: connectionMembers.urls.optional(),
  username: connectionMembers.username.optional(),
  password: serverPassword.optional(),
  cluster: plainText(1, 255).nullish(),
  database: plainText(1, 200).nullish(),
  tls: tls.nullish(),
});

/** What is wrong with the URL of a server; undefined: nothing. */
function serverUrlProblem(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    return "must be a URL such as https://clickhouse.example.com:8443";
  }
  const { username, password, pathname, search, hash } = new URL(text);
  if (username !== "" || password !== "") return "must not contain a user; use username and password";
  return pathname === "/" && search === "" && hash === "" ? undefined : "must end after host and port";
}

const memoryMembers = ["minReplicaMemoryGb", "maxReplicaMemoryGb", "numReplicas", "idleTimeoutMinutes"] as const;

type RuntimeBody = { readonly runtime?: RuntimeKind | undefined; readonly connection?: unknown } & Readonly<
  Record<string, unknown>
>;

/** Members of a request that do not fit the runtime. */
export function runtimeIssues(body: RuntimeBody): { path: string; message: string }[] {
  const { label, hasConnection, hasSizes, canBeFilled } = runtimeTraits[body.runtime ?? defaultRuntime];
  const issues: { path: string; message: string }[] = [];
  if (!canBeFilled && body.backupId !== undefined) {
    issues.push({ path: "backupId", message: `${label} cannot be filled from a backup` });
  }
  if (hasConnection !== (body.connection !== undefined)) {
    const message = hasConnection ? `is required with runtime ${body.runtime}` : "requires runtime external";
    issues.push({ path: "connection", message });
  }
  if (hasSizes) return issues;
  for (const path of memoryMembers) {
    if (body[path] !== undefined)
      issues.push({ path, message: "does not apply to an external server, which has its own size" });
  }
  if (body.idleScaling === true) issues.push({ path: "idleScaling", message: noIdling });
  if (body.diskGb != null)
    issues.push({ path: "diskGb", message: "does not apply to an external server, which has its own disk" });
  return issues;
}

/** Why an external service cannot become idle. */
export const noIdling = "must be false: Millrace cannot start and stop an external server";
