/**
 * The kinds `ClickHouseCluster` and `KeeperCluster` with the fields that Millrace uses, written for the tests. The
 * operator's own definitions have many more.
 */
const text = { type: "string" } as const;
const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;
const count = { type: "integer", minimum: 0 } as const;
const object = (properties: object, required: readonly string[] = []) => ({ type: "object", properties, required });

const cluster = object(
  {
    replicas: count,
    shards: count,
    keeperClusterRef: object({ name: text }, ["name"]),
    containerTemplate: object({ image: object({ repository: text, tag: text, hash: text }), resources: anything }),
    dataVolumeClaimSpec: anything,
    settings: object({ extraConfig: anything, extraUsersConfig: anything }),
  },
  ["keeperClusterRef"],
);
const keeper = object({ replicas: count, dataVolumeClaimSpec: anything });

export const clusterCrds = [definition("ClickHouseCluster", cluster), definition("KeeperCluster", keeper)];

function definition(kind: string, spec: object) {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  const schema = { openAPIV3Schema: object({ spec, status: anything }) };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.clickhouse.com` },
    spec: {
      group: "clickhouse.com",
      scope: "Namespaced",
      names: { kind, listKind: `${kind}List`, singular, plural },
      versions: [{ name: "v1alpha1", served: true, storage: true, subresources: { status: {} }, schema }],
    },
  };
}
