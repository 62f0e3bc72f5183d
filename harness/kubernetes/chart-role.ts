/** The Role of the Helm chart, for the user of a control plane under test. */
import { chartManifests } from "./chart.ts";
import { type TestCluster, testNamespace } from "./cluster.ts";

/** `clickhouse`: values of the chart beside the namespace. */
export async function grantRoleOfChart(cluster: TestCluster, clickhouse: object = {}): Promise<void> {
  const values = { clickhouse: { ...clickhouse, namespace: testNamespace } };
  const base = `/apis/rbac.authorization.k8s.io/v1/namespaces/${testNamespace}`;
  for (const manifest of chartManifests({ values })) {
    if (manifest.kind === "Role") await cluster.must("POST", `${base}/roles`, manifest);
    if (manifest.kind !== "RoleBinding") continue;
    const subjects = [{ kind: "User", name: "millrace", apiGroup: "rbac.authorization.k8s.io" }];
    await cluster.must("POST", `${base}/rolebindings`, { ...manifest, subjects });
  }
}
