/**
 * Nodes for the test's cluster: the controllers and the scheduler of Kubernetes, and kwok in place of kubelets. Pods
 * are placed and become ready as in every cluster, and nothing runs in them.
 */
import { freePorts } from "../network/free-port.ts";
import { kwokStageFlags } from "./binaries.ts";
import type { TestCluster } from "./cluster.ts";

/** The controllers and the scheduler. */
export async function startControllers(cluster: TestCluster): Promise<void> {
  const [manager, scheduler] = await freePorts(2);
  const own = ["--leader-elect=false", "--bind-address=127.0.0.1", `--cert-dir=${cluster.dir}/clients`];
  cluster.run("kube-controller-manager", [
    ...[...own, `--secure-port=${manager}`, "--pvclaimbinder-sync-period=1s"],
    // On a busy machine heartbeats are late, and nodes would be given up.
    "--node-monitor-grace-period=600s",
  ]);
  cluster.run("kube-scheduler", [...own, `--secure-port=${scheduler}`]);
}

/** The controllers, the scheduler, and one node with room for a small installation. */
export async function startNodes(cluster: TestCluster): Promise<void> {
  await startControllers(cluster);
  const [kwok] = await freePorts(1);
  const selector = "--manage-nodes-with-label-selector=type=kwok";
  cluster.run("kwok", [selector, `--server-address=127.0.0.1:${kwok}`, ...kwokStageFlags()]);
  const allocatable = { cpu: "16", memory: "64Gi", pods: "110" };
  await cluster.must("POST", "/api/v1/nodes", {
    metadata: { name: "node-1", labels: { type: "kwok" } },
    status: { allocatable, capacity: allocatable },
  });
}
