/** The program itself, for its operator. An extension of the contract. */
import { z } from "zod";
import { operation, timestamp, uuid } from "./operation.ts";

const loop = z.object({
  name: z.string(),
  running: z.boolean(),
  passes: z.int(),
  consecutiveFailures: z.int(),
  lastError: z.string().optional(),
});

const engine = z.object({
  serviceId: uuid,
  pid: z.int(),
  memoryBytes: z.int().optional().describe("Resident memory of the process; absent where the system does not tell"),
  memoryLimitGb: z.int(),
  cpuCores: z
    .number()
    .optional()
    .describe(
      "Processor time of queries, merges and inserts in the last seconds, in seconds per second; absent until known",
    ),
  version: z.string(),
});

const worker = z.object({
  name: z.string(),
  pid: z.int(),
  source: z.string().describe("Kind of source of its pipes"),
  own: z.boolean().describe("True for a process of one pipe, which shares it with no other"),
  pipes: z.array(uuid).describe("Pipes of the organization; one id for each replica"),
  slots: z.int().describe("Replicas of pipes that it runs, of all organizations"),
  memoryBytes: z.int().optional().describe("Resident memory of the process; absent where the system does not tell"),
  memoryLimitBytes: z.int().describe("Above it, its pipes continue in another process"),
  utilization: z.number().describe("Share of a processor that its event loop has used in the last seconds, 0 to 1"),
});

const setting = z
  .object({
    name: z.string(),
    flag: z.string(),
    environment: z.string(),
    origin: z.enum(["flag", "environment", "default"]),
    value: z
      .union([z.string(), z.number(), z.boolean()])
      .optional()
      .describe("Absent if not set; `set` for a secret that is set"),
    secret: z.boolean(),
  })
  .meta({ id: "Setting" });

export const certificate = z
  .object({
    subject: z.string(),
    names: z
      .array(z.string())
      .describe("Names and addresses that it is valid for, as `DNS:name` or `IP Address:address`"),
    validFrom: timestamp,
    validTo: timestamp,
    daysLeft: z.int().describe("Whole days until it expires; negative after that"),
    problem: z
      .string()
      .optional()
      .describe(
        "Why the files, as they are now, cannot be used; new connections get the certificate that was read before",
      ),
  })
  .describe(
    "Certificate of the API and of services' ports, which is read again when its files change; absent without --tls-cert",
  );

const gatewayCertificate = certificate.describe(
  "Certificate of the gateway by host name, which is read again when its files change; absent without --gateway-tls-cert",
);

const backupLocation = z
  .object({
    place: z.string().describe("Folder, or bucket with prefix"),
    writable: z
      .boolean()
      .optional()
      .describe("Whether a small file was written and removed by the last check; absent before the first one"),
    checkedAt: timestamp.optional().describe("End of the last check; there is one every 10 minutes"),
    problem: z.string().optional().describe("Why it is not writable"),
  })
  .describe("Where new backups are stored");

const servicePorts = z
  .object({
    first: z.int(),
    last: z.int(),
    used: z.int().describe("Ports of the range that services of all organizations have"),
    problems: z
      .array(z.object({ serviceId: uuid, port: z.int(), problem: z.string() }))
      .describe("Services of the organization whose endpoint cannot be opened"),
  })
  .describe("Ports of services' endpoints; `first` and `last` are 0 with --service-ports none");

export const systemRecord = z
  .object({
    version: z.string(),
    nodeVersion: z.string(),
    engineVersion: z.string().describe("Version of ClickHouse that services run from their next start on"),
    platform: z.string(),
    pid: z.int(),
    startedAt: timestamp,
    uptimeSeconds: z.int(),
    memoryBytes: z.int().describe("Resident memory of the control plane"),
    baseUrl: z.string(),
    dataDir: z.string(),
    disk: z.object({ totalBytes: z.int(), freeBytes: z.int() }).describe("The disk of dataDir"),
    certificate: certificate.optional(),
    gatewayCertificate: gatewayCertificate.optional(),
    backupLocation,
    servicePorts,
    confinement: z.object({ confined: z.boolean(), sentence: z.string() }),
    loops: z.array(loop),
    engines: z.array(engine).describe("Running engines of the organization"),
    workers: z.array(worker).describe("Worker processes with pipes of the organization"),
    limits: z
      .array(z.object({ name: z.string(), most: z.number(), setting: z.string().describe("The flag that sets it") }))
      .describe("Limits of each organization"),
    configuration: z.array(setting).describe("Every setting of the server, secrets without their values"),
  })
  .meta({ id: "System" });

export const systemOperations = {
  getSystem: operation({
    method: "GET",
    path: "/v1/system",
    tag: "System",
    summary:
      "Gets versions, disk, certificate, backup location, ports, loops, engines, workers, limits and configuration of the server, without secrets",
    access: "admin",
    result: systemRecord,
  }),
};
