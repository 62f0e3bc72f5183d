/**
 * The kind `ClickHouseInstallation` with the fields that Millrace uses, written for the tests. The operator's own
 * definition has many more.
 */
const text = { type: "string" } as const;
const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;
const list = (items: object) => ({ type: "array", items });
const object = (properties: object) => ({ type: "object", properties });

/** As many as the quota of a namespace might allow. */
export const mostReplicas = 3;

const layout = object({
  shardsCount: { type: "integer", minimum: 1 },
  replicasCount: { type: "integer", minimum: 1, maximum: mostReplicas },
});

const volumeClaim = object({
  name: text,
  reclaimPolicy: { type: "string", enum: ["", "Retain", "Delete"] },
  spec: anything,
});

const spec = object({
  taskID: text,
  stop: { type: "string", enum: ["", "0", "1", "no", "yes", "No", "Yes", "off", "on", "disable", "enable"] },
  defaults: object({ templates: object({ podTemplate: text, dataVolumeClaimTemplate: text }) }),
  configuration: object({
    users: anything,
    profiles: anything,
    settings: anything,
    zookeeper: object({ nodes: list(object({ host: text, port: { type: "integer", minimum: 1, maximum: 65_535 } })) }),
    clusters: list(object({ name: { ...text, minLength: 1, maxLength: 15 }, layout })),
  }),
  templates: object({
    podTemplates: list(object({ name: text, spec: anything })),
    volumeClaimTemplates: list(volumeClaim),
  }),
});

export const installationCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "clickhouseinstallations.clickhouse.altinity.com" },
  spec: {
    group: "clickhouse.altinity.com",
    scope: "Namespaced",
    names: {
      kind: "ClickHouseInstallation",
      listKind: "ClickHouseInstallationList",
      singular: "clickhouseinstallation",
      plural: "clickhouseinstallations",
      shortNames: ["chi"],
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: object({ spec, status: anything }) },
      },
    ],
  },
};
