/** Settings of services in Kubernetes. */
import { z } from "zod";
import { parseHosts } from "../lib/host-list.ts";
import { parsingProblem, refusing } from "./problem.ts";

export const kubernetesSettings = {
  kubernetesNamespace: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, { error: "must be the name of a namespace" })
    .optional()
    .describe(
      "Namespace for services with the runtime `kubernetes`, in which the Altinity operator for ClickHouse works; default: there are no such services. See docs/kubernetes.md",
    ),
  kubernetesConfig: z
    .string()
    .min(1)
    .optional()
    .describe(
      "File with the address and credentials of the API server; default: what kubectl would use, or the service account of the pod",
    ),
  kubernetesImage: z
    .string()
    .min(1)
    .default("clickhouse/clickhouse-server:26.7")
    .describe("Image of the ClickHouse server of services in Kubernetes"),
  kubernetesStorageClass: z
    .string()
    .min(1)
    .optional()
    .describe("Storage class of the volumes of services in Kubernetes; default: that of the cluster"),
  kubernetesKeeper: z
    .string()
    .superRefine(refusing((text) => parsingProblem(() => parseHosts(text))))
    .optional()
    .describe(
      "Hosts of ClickHouse Keeper for services in Kubernetes, as host:port separated by commas; default: none, and services have one replica",
    ),
  kubernetesVolumes: z
    .enum(["retain", "delete"])
    .default("retain")
    .describe("Whether the volumes of a service in Kubernetes are kept when it is deleted"),
};
