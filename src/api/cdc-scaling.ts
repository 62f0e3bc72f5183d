/** The size of the workers of a service's Postgres pipes. */
import { z } from "zod";
import { operations } from "./operation.ts";

const members = {
  replicaCpuMillicores: z
    .int()
    .min(1_000)
    .max(32_000)
    .multipleOf(1_000)
    .describe("Processors of a worker, in thousandths"),
  replicaMemoryGb: z.int().min(4).max(128).multipleOf(4).describe("Memory of a worker: 4 GB per processor"),
};

const shared = {
  tag: "Pipes",
  path: "/v1/organizations/{organizationId}/services/{serviceId}/cdcScaling",
} as const;

export const cdcScalingOperations = operations(shared, {
  getCdcScaling: {
    method: "GET",
    storedOnly: true,
    summary: "Gets the size of the workers of a service's Postgres pipes; empty if none is set",
    access: "read",
    result: z.object(members).partial().meta({ id: "CdcScaling" }),
  },
  updateCdcScaling: {
    method: "PATCH",
    summary: "Sets the size of a worker for each Postgres pipe of a service, in place of the scaling of the pipe",
    access: "developer",
    body: z.strictObject(members).refine((size) => size.replicaMemoryGb * 1_000 === size.replicaCpuMillicores * 4, {
      path: ["replicaMemoryGb"],
      error: "must be 4 times the number of processors: 8 for 2000 replicaCpuMillicores",
    }),
    result: z.object(members),
  },
});
