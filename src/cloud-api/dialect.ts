/**
 * What the API of ClickHouse Cloud calls otherwise, has in addition, or has and this server does not: data alone. Every
 * word of that API which is not ours is in this room.
 */
import { z } from "zod";
import { pipeSettings } from "../api/pipes.ts";
import { sourceDescriptions } from "../sources/contract/descriptions.ts";

/** What a body or result is, for names and members. */
export type CloudForm =
  | "organization"
  | "key"
  | "service"
  | "pipe"
  | "settings"
  | "backupConfiguration"
  | "chartSource";

/** Our names, each with theirs. */
export type Names = Readonly<Record<string, string>>;

export const pathNames = { pipes: "clickpipes" } as const;

export const sourceNames: Names = Object.fromEntries(
  Object.entries(sourceDescriptions).flatMap(([key, { cloudWord }]) =>
    cloudWord === undefined ? [] : [[key, cloudWord]],
  ),
);

/** From the schema, so that a setting which is added there has both names. */
export const cloudSettingNames: Names = Object.fromEntries(
  Object.keys(pipeSettings.shape)
    .filter((name) => name.startsWith("database_"))
    .map((name) => [name, name.replace("database_", "clickhouse_")]),
);

/** The objects in which names differ: `at` is the path to them, empty for the whole body or result. */
export const renames: Readonly<Partial<Record<CloudForm, readonly { readonly at: string; readonly names: Names }[]>>> =
  {
    service: [{ at: "", names: { databaseVersion: "clickhouseVersion" } }],
    pipe: [
      { at: "source", names: sourceNames },
      { at: "settings", names: cloudSettingNames },
    ],
    settings: [{ at: "", names: cloudSettingNames }],
  };

/** Words of sentences; members of every form are words too. */
export const sentenceWords: readonly (readonly [ours: RegExp, theirs: string])[] = [
  [/\bthe pipe\b/g, "ClickPipe"],
  [/\bPipe\b/g, "ClickPipe"],
  [/\bpipeId\b/g, "clickPipeId"],
];

/** A member that a request may have although it has no effect. */
export type AcceptedMember = {
  /** In their names; `*` stands for every element of a list. */
  readonly path: string;
  readonly value: z.ZodType;
  /** What is refused: the end of a sentence that begins with the path. */
  readonly otherwise: string;
  /** The path below which later responses show it; absent: no response depends on the request. */
  readonly keptAt?: string;
};

const none = z.array(z.never()).max(0);
const noChange = z.strictObject({ add: none.nullish(), remove: none.nullish() });
const unsupported = "is not supported by this server; see docs/compat.md";

const isVertical = {
  path: "autoscalingMode",
  value: z.literal("vertical"),
  otherwise: `must be vertical: horizontal scaling ${unsupported}`,
};
const noCoreDumps = {
  path: "enableCoreDumps",
  value: z.literal(false),
  otherwise: `must be false: true ${unsupported}`,
};
const noMysql = {
  path: "endpoints",
  value: z.array(z.strictObject({ protocol: z.literal("mysql"), enabled: z.literal(false) })),
  otherwise: `must not enable an endpoint: the MySQL interface ${unsupported}`,
};
const noPrivateEndpoints = {
  path: "privateEndpointIds",
  otherwise: `must be empty: a private endpoint ${unsupported}`,
};
const noOtherRoles = {
  path: "assignedRoleIds",
  value: none,
  otherwise: `must be empty: a role of the organization ${unsupported}; use roles`,
};
const exactlyOnce = {
  path: "source.kafka.exactlyOnce",
  value: z.boolean(),
  otherwise: "must be true or false",
  keptAt: "source.kafka.exactlyOnce",
};
const readCommitted = (path: string): AcceptedMember => ({
  path,
  value: z.literal(true),
  otherwise: "must be true: this server always reads committed messages only",
  keptAt: "settings.kafka_read_committed",
});
const noPartitionKey = (list: string): AcceptedMember => ({
  path: `source.postgres.${list}.*.partitionKey`,
  value: z.literal(""),
  otherwise: unsupported,
});
const tableLists = ["tableMappings", "tableMappingsToAdd", "tableMappingsToRemove"];

/** By operation. */
export const acceptedMembers: Readonly<Record<string, readonly AcceptedMember[]>> = {
  updateOrganization: [
    noCoreDumps,
    { path: "privateEndpoints", value: noChange, otherwise: `must be empty: a private endpoint ${unsupported}` },
  ],
  createKey: [noOtherRoles],
  updateKey: [noOtherRoles],
  createService: [
    isVertical,
    noCoreDumps,
    noMysql,
    { ...noPrivateEndpoints, value: none },
    { path: "hasTransparentDataEncryption", value: z.literal(false), otherwise: `must be false: true ${unsupported}` },
    { path: "privatePreviewTermsChecked", value: z.boolean(), otherwise: "must be true or false" },
    { path: "tier", value: z.string().min(1).max(50), otherwise: "must be the name of a tier", keptAt: "tier" },
  ],
  updateService: [noCoreDumps, noMysql, { ...noPrivateEndpoints, value: noChange }],
  updateServiceScaling: [isVertical],
  updateServiceTotalScaling: [isVertical],
  createPipe: [exactlyOnce, readCommitted("settings.kafka_read_committed"), noPartitionKey("tableMappings")],
  updatePipe: [exactlyOnce, readCommitted("settings.kafka_read_committed"), ...tableLists.map(noPartitionKey)],
  updatePipeSettings: [readCommitted("kafka_read_committed")],
  discoverSchema: [{ ...exactlyOnce, keptAt: undefined } as AcceptedMember],
};

/** Members of ours that a client which does not set them sends as an empty text. By operation. */
export const emptyMembers: Readonly<Record<string, readonly string[]>> = {
  createPipe: ["source.postgres.tableMappings.*.partitionByExpr"],
  updatePipe: tableLists.map((list) => `source.postgres.${list}.*.partitionByExpr`),
};

const otherSources = ["mysql", "mongodb", "bigquery", "pubsub"].map((name) => `source.${name}`);
const horizontal = ["minReplicas", "maxReplicas", "replicaMemoryGb"];

/** Members that are refused by a sentence of their own, unless they are null. By operation. */
export const refusedMembers: Readonly<Record<string, readonly string[]>> = {
  createKey: ["hashData"],
  createService: [
    ...["byocId", "complianceType", "dataWarehouseId", "encryptionAssumedRoleIdentifier", "encryptionKey", "profile"],
    ...horizontal,
  ],
  updateService: ["transparentDataEncryptionKeyId"],
  updateServiceScaling: horizontal,
  createPipe: [...otherSources, "source.objectStorage.serviceAccountKey"],
  updatePipe: [...otherSources, "source.objectStorage.serviceAccountKey"],
  discoverSchema: otherSources,
};

/** Members of our sources that a client of theirs does not know. They can be sent, and records leave them out. */
export const unknownToClients: Readonly<Record<string, readonly string[]>> = {
  managedStream: ["endpoint", "compression", "schemaRegistry"],
};

/** Clients whose settings of a pipe replace the former ones; those of all others are merged. */
export const replacingAgents: readonly string[] = ["terraform-provider-clickhouse/"];

/** How long a pipe that has loaded its objects is shown as Running: clients wait for that state after a creation. */
export const completedDwellMs = 10_000;

/** Members of records that ours do not have. */
export const addedMembers: Readonly<Partial<Record<CloudForm, Readonly<Record<string, z.ZodType>>>>> = {
  organization: { privateEndpoints: z.array(z.unknown()).max(0), enableCoreDumps: z.literal(false) },
  key: {
    assignedRoles: z.array(z.object({ roleName: z.string(), roleType: z.literal("system") })),
  },
  service: {
    autoscalingMode: z.literal("vertical"),
    enableCoreDumps: z.literal(false),
    currentScaling: z.object({
      effectiveAutoscalingMode: z.literal("vertical"),
      effectiveMinReplicaMemoryGb: z.int(),
      effectiveMaxReplicaMemoryGb: z.int(),
      effectiveMinReplicas: z.int(),
      effectiveMaxReplicas: z.int(),
    }),
  },
};

/** Members of our records that theirs may lack. */
export const optionalMembers: Readonly<Partial<Record<CloudForm, readonly string[]>>> = {
  service: ["minTotalMemoryGb", "maxTotalMemoryGb"],
  backupConfiguration: ["backupStartTime"],
};

/** A part of their API without a counterpart here. */
export type UnsupportedPart = {
  readonly path: string;
  /** The beginning of the sentence. */
  readonly what: string;
  /** What reading it answers: nothing exists, or none is configured. Absent: that it is not supported. */
  readonly read?: "empty" | "none";
};

const organization = "/v1/organizations/{organizationId}";
const service = `${organization}/services/{serviceId}`;

export const unsupportedParts: readonly UnsupportedPart[] = [
  { path: `${organization}/members`, what: "A member of the organization", read: "empty" },
  { path: `${organization}/invitations`, what: "An invitation", read: "empty" },
  { path: `${organization}/postgres`, what: "A managed Postgres service", read: "empty" },
  { path: `${organization}/udfs`, what: "A user-defined function", read: "empty" },
  { path: `${organization}/udfUploads`, what: "A user-defined function" },
  { path: `${organization}/roles`, what: "A role of the organization" },
  { path: `${organization}/activities`, what: "The list of activities in this form" },
  { path: `${organization}/usageCost`, what: "The report of costs" },
  { path: `${organization}/quotas`, what: "The list of quotas" },
  { path: `${organization}/balance`, what: "The balance" },
  { path: `${organization}/notifications`, what: "A notification" },
  { path: `${organization}/creditBalances`, what: "The balance of credits" },
  { path: `${organization}/notificationTypes`, what: "A type of notifications" },
  { path: `${organization}/prometheus/discovery`, what: "The discovery of targets" },
  { path: `${organization}/serviceProfiles`, what: "A profile of services" },
  { path: `${organization}/byocInfrastructure`, what: "Infrastructure of the customer" },
  { path: `${organization}/privateEndpointConfig`, what: "A private endpoint" },
  { path: `${service}/privateEndpoint`, what: "A private endpoint" },
  { path: `${service}/upgradeWindow`, what: "An upgrade window", read: "none" },
  { path: `${service}/scalingSchedule`, what: "A scaling schedule", read: "none" },
  { path: `${service}/backupBucket`, what: "A backup bucket of a service", read: "none" },
  { path: `${service}/clickhouseSettings`, what: "A setting of the server" },
  { path: `${service}/snapshots`, what: "A snapshot" },
  { path: `${service}/replicaAwareRouting`, what: "Routing by replica" },
  { path: `${service}/query-api-endpoints`, what: "A query endpoint of a saved query" },
  { path: `${service}/saved-queries`, what: "A saved query" },
  { path: `${service}/udfAttachments`, what: "A user-defined function", read: "empty" },
  { path: `${service}/clickstack/roles`, what: "A role of ClickStack", read: "empty" },
  { path: `${service}/clickpipesReversePrivateEndpoints`, what: "A reverse private endpoint", read: "empty" },
];
