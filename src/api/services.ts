/** Database services: the record of the contract (A1) and extensions. */

import { z } from "zod";
import { ipAccess } from "./ip-access.ts";
import { deleted } from "./leftovers.ts";
import {
  changing,
  commaSeparated,
  linkedQuery,
  operations,
  plainText,
  shownName,
  timestamp,
  uuid,
  version,
} from "./operation.ts";
import { type RuntimeKind, runtimeTraits } from "./runtimes.ts";
import { connectionChange, connectionMembers, runtimeIssues, serverConnection } from "./service-connections.ts";

/**
 * The states of the ClickHouse Cloud API; `docs/states.md` lists those that occur here and what the operator should do.
 */
export const serviceStates = [
  "provisioning",
  "starting",
  "running",
  "stopping",
  "stopped",
  "idle",
  "awaking",
  "degraded",
  "failed",
  "terminating",
] as const;
export type ServiceState = (typeof serviceStates)[number];

const runtimes = Object.keys(runtimeTraits) as [RuntimeKind, ...RuntimeKind[]];

const endpoint = z.object({
  protocol: z.enum(["http", "https", "native", "nativesecure"]),
  host: z.string(),
  port: z.int(),
  username: z.string(),
});

/** Greatest numbers of entries of a service. */
export const listLimits = { ipAccessList: 200, tags: 50 } as const;

const memoryGb = z
  .int()
  .min(1)
  .max(356)
  .refine((gb) => gb === 1 || gb === 2 || gb % 4 === 0, { error: "must be 1, 2 or a multiple of 4, at most 356" });

const tag = z.strictObject({
  key: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,128}$/, { error: "must be 1 to 128 characters of a-z, A-Z, 0-9, '.', '_', '-'" }),
  value: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{0,256}$/, { error: "must be at most 256 characters of a-z, A-Z, 0-9, '.', '_', '-'" })
    .optional(),
});

/** Exactly the members of the contract's service record; members without a meaning here are absent. */
export const serviceRecord = z
  .object({
    id: uuid,
    name: z.string(),
    databaseVersion: z.string(),
    endpoints: z.array(endpoint),
    minTotalMemoryGb: z.int(),
    maxTotalMemoryGb: z.int(),
    minReplicaMemoryGb: z.int(),
    maxReplicaMemoryGb: z.int(),
    numReplicas: z.int(),
    idleScaling: z.boolean(),
    idleTimeoutMinutes: z.int(),
    ipAccessList: z.array(z.object({ source: z.string(), description: z.string() })),
    createdAt: timestamp,
    encryptionKey: z.string().optional(),
    encryptionAssumedRoleIdentifier: z.string().optional(),
    iamRole: z.string().optional(),
    privateEndpointIds: z.array(z.string()),
    availablePrivateEndpointIds: z.array(z.string()),
    dataWarehouseId: z.string(),
    isPrimary: z.boolean(),
    isReadonly: z.boolean(),
    byocId: z.string().optional(),
    hasTransparentDataEncryption: z.boolean(),
    transparentDataEncryptionKeyId: z.string().optional(),
    encryptionRoleId: z.string().optional(),
  })
  .meta({ id: "Service" });

const lastBackup = z.object({
  id: uuid,
  name: z.string(),
  status: z.enum(["done", "error", "in_progress"]),
  startedAt: timestamp,
  finishedAt: timestamp.optional(),
  verification: z
    .enum(["pending", "passed", "failed"])
    .describe("Whether the stored files were read back and are right"),
  verifiedAt: timestamp.optional(),
  deepVerifiedAt: timestamp.optional().describe("When the backup was last restored as a trial"),
});

export const serviceDetails = serviceRecord
  .extend({
    port: z.int().optional().describe("Port of its own; absent if it was created while services had none"),
    version,
    state: z.enum(serviceStates),
    stateMessage: z
      .string()
      .optional()
      .describe(
        "Reason when the state differs from the requested one, or a note that the service exceeds its `diskGb`. The answer for one service also says when its memory differs from the requested one",
      ),
    diskGb: z.int().optional().describe("Disk quota of the service's tables, in GiB; absent: no quota"),
    diskUsedBytes: z.int().optional().describe("Disk use of the service's tables, as last measured"),
    stateChangedAt: timestamp.optional().describe("Since when the service has this state"),
    rows: z.int().optional().describe("Rows of the service's tables, as its engine reported last"),
    pipes: z
      .object({ total: z.int(), running: z.int().describe("In the state Running or Snapshot") })
      .describe("Number of pipes"),
    lastBackup: lastBackup.optional().describe("The backup that began last; absent without backups"),
    runtime: z
      .enum(runtimes)
      .describe(
        "`embedded`: an engine of Millrace. `external`: a ClickHouse server that exists without it. `kubernetes`: pods of a cluster",
      ),
    connection: z
      .object(connectionMembers)
      .optional()
      .describe("How the server of an external service is reached, without the password"),
    provider: z.string(),
    region: z.string(),
    releaseChannel: z.string().optional(),
    tags: z.array(z.object({ key: z.string(), value: z.string().optional() })),
    idle: z
      .object({ lastQueryAt: timestamp.optional(), idleAt: timestamp.optional() })
      .describe("Time of the last query, and time at which the service becomes idle without another one"),
  })
  .meta({ id: "ServiceDetails" });

const scalingMembers = {
  minReplicaMemoryGb: memoryGb.optional(),
  maxReplicaMemoryGb: memoryGb.optional(),
  numReplicas: z.int().min(1).max(20).optional(),
  idleScaling: z.boolean().optional(),
  idleTimeoutMinutes: z.int().min(5).max(10_080).optional(),
};

const port = z
  .int()
  .min(1)
  .max(65_535)
  .describe("Port of the service's endpoint, which no other program may use; default: a free port of --service-ports");

const diskGb = z
  .int()
  .min(1)
  .max(1_048_576)
  .nullish()
  .describe("Disk quota of the service's tables, in GiB; above it the service accepts no more data");

const name = shownName(50);
const releaseChannel = z.enum(["slow", "default", "fast"]);

const createBody = z
  .strictObject({
    name,
    provider: z.enum(["local", "aws", "gcp", "azure"]).optional(),
    region: plainText(1, 50).optional(),
    ...scalingMembers,
    port: port.optional(),
    diskGb,
    ipAccessList: z.array(ipAccess).max(listLimits.ipAccessList).optional(),
    tags: z.array(tag).max(listLimits.tags).optional(),
    releaseChannel: releaseChannel.optional(),
    runtime: z
      .enum(runtimes)
      .optional()
      .describe(
        "`external`: the service is a ClickHouse server that exists; it requires `connection`. `kubernetes`: it runs in the cluster of the installation, and `diskGb` is the size of its volumes",
      ),
    connection: serverConnection.optional(),
    isReadonly: z
      .literal(false, { error: "read-only services are not supported; use a read-only user instead" })
      .optional(),
    backupId: uuid.optional().describe("Restores this backup into the service before it runs"),
    restorePipes: z
      .enum(["none", "stopped", "running"])
      .optional()
      .describe("With backupId: whether the pipes of the backup are created, and whether they start; default stopped"),
    force: z
      .boolean()
      .optional()
      .describe("With backupId: restores also from a backup that is damaged or not verified"),
  })
  .refine((body) => body.backupId !== undefined || (body.restorePipes === undefined && body.force === undefined), {
    error: "restorePipes and force require backupId",
  })
  .superRefine((body, context) => {
    for (const { path, message } of runtimeIssues(body)) context.addIssue({ code: "custom", path: [path], message });
  });

const listChange = <T extends z.ZodType>(item: T) =>
  z.strictObject({ add: z.array(item).max(200).optional(), remove: z.array(item).max(200).optional() });

const patchBody = z.strictObject({
  name: name.optional(),
  ipAccessList: listChange(ipAccess).optional().describe("`remove` is applied before `add`"),
  tags: listChange(tag).optional(),
  releaseChannel: releaseChannel.optional(),
  port: port.optional().describe("New port of the endpoint; clients must use it from then on"),
  diskGb: diskGb.describe("New disk quota, in GiB; null removes the quota"),
  connection: connectionChange
    .optional()
    .describe(
      "The members of an external service's connection that change; the server is connected to before they are stored",
    ),
});

const doubleSha1Hex = z.string().regex(/^[0-9a-fA-F]{40}$/, { error: "must be hex(sha1(sha1(password)))" });
const sha256Base64 = z.string().regex(/^[A-Za-z0-9+/]{43}=$/, { error: "must be base64(sha256(password))" });

export const userRecord = z
  .object({
    name: z.string(),
    readonly: z.boolean(),
    restricted: z
      .boolean()
      .describe("True: the user was made by a statement, and has only the rights that were granted"),
    problem: z
      .string()
      .optional()
      .describe(
        "Why the granted rights cannot be read; the user has none meanwhile, and can be deleted and made again",
      ),
    createdAt: timestamp,
  })
  .meta({ id: "ServiceUser" });

const organization = z.object({ organizationId: uuid });
const service = organization.extend({ serviceId: uuid });
const user = service.extend({ userName: z.string().min(1).max(64) });
const root = "/v1/organizations/{organizationId}/services";
const tagName = { tag: "Services" } as const;

export const serviceOperations = operations(tagName, {
  listServices: {
    method: "GET",
    linked: true,
    path: root,
    summary: "Lists services with state, disk use, rows, number of pipes and last backup",
    access: "read",
    query: z.object({
      ...linkedQuery,
      state: commaSeparated(serviceStates).optional().describe("Only services in one of these states"),
      name: z
        .string()
        .max(50)
        .optional()
        .describe("Only services whose name contains this text, in upper or lower case"),
      filter: z
        .preprocess(
          (value) => (value === undefined ? undefined : [value].flat()),
          z.array(z.string().regex(/^tag:[^=]+(=.*)?$/, { error: "must be tag:KEY or tag:KEY=VALUE" })).max(50),
        )
        .optional()
        .describe("Only services with this tag: `tag:KEY` or `tag:KEY=VALUE`; repeated: with all of them"),
      sort: z.enum(["createdAt", "name", "state", "diskUsedBytes"]).default("createdAt"),
      order: z.enum(["asc", "desc"]).default("asc"),
    }),
    result: z.array(serviceDetails),
  },
  createService: {
    method: "POST",
    path: root,
    summary: "Creates and starts a service, or connects to a server; only this response contains its password",
    access: "admin",
    body: createBody,
    result: z.object({ service: serviceDetails, password: z.string() }),
  },
  getService: {
    method: "GET",
    path: `${root}/{serviceId}`,
    summary: "Gets a service with its state",
    access: "read",
    result: serviceDetails,
  },
  updateService: {
    method: "PATCH",
    versioned: true,
    path: `${root}/{serviceId}`,
    summary: "Changes name, access list, tags, release channel, port, disk quota or connection",
    access: "admin",
    body: patchBody,
    result: serviceDetails,
  },
  deleteService: {
    method: "DELETE",
    versioned: true,
    path: `${root}/{serviceId}`,
    summary:
      "Deletes a service with its data and pipes; it must not be running. An external server keeps its data, and a cluster its volumes unless the operator deletes them",
    access: "admin",
    result: deleted,
  },
  updateServiceState: {
    method: "PATCH",
    versioned: true,
    path: `${root}/{serviceId}/state`,
    summary: "Starts, stops or wakes a service",
    access: "developer",
    body: z.strictObject({ command: z.enum(["start", "stop", "awake"]) }),
    result: serviceRecord,
  },
  updateServiceScaling: {
    method: "PATCH",
    versioned: true,
    path: `${root}/{serviceId}/replicaScaling`,
    summary: "Changes memory limits, idling and, in Kubernetes, replicas",
    access: "admin",
    body: changing(z.strictObject(scalingMembers)),
    result: serviceDetails,
  },
  updateServicePassword: {
    method: "PATCH",
    path: `${root}/{serviceId}/password`,
    summary: "Sets the password of the `default` user: a generated one, which is returned, or one given as a hash",
    access: "admin",
    body: z
      .strictObject({ newPasswordHash: sha256Base64.optional(), newDoubleSha1Hash: doubleSha1Hex.optional() })
      .refine((body) => body.newDoubleSha1Hash === undefined || body.newPasswordHash !== undefined, {
        path: ["newDoubleSha1Hash"],
        error: "needs newPasswordHash: nobody logs in with it alone",
      }),
    result: z.object({ password: z.string().optional() }),
  },
  listServiceUsers: {
    method: "GET",
    storedOnly: true,
    path: `${root}/{serviceId}/users`,
    summary: "Lists the database users of a service",
    access: "read",
    result: z.array(userRecord),
  },
  createServiceUser: {
    method: "POST",
    path: `${root}/{serviceId}/users`,
    summary: "Creates a database user; only this response contains its password",
    access: "admin",
    body: z.strictObject({
      name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/, {
        error: "must start with a letter or '_' and have at most 64 characters of a-z, A-Z, 0-9, '_', '.', '-'",
      }),
      readonly: z.boolean().optional(),
    }),
    result: z.object({ user: userRecord, password: z.string() }),
  },
  deleteServiceUser: {
    method: "DELETE",
    path: `${root}/{serviceId}/users/{userName}`,
    summary: "Deletes a database user other than `default`",
    access: "admin",
    params: user,
  },
});
