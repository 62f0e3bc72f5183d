/** The routes of the dialect: operations of ours by id, and those that only the dialect has. */
import { z } from "zod";
import { chartSourceOperations, sourceRecord } from "../api/chart-sources.ts";
import { type Operation, operation, uuid } from "../api/operation.ts";
import { managementOperations } from "../api/operations.ts";
import { serviceDetails } from "../api/services.ts";
import {
  createServiceSource,
  deleteServiceSource,
  getServiceSource,
  listServiceSources,
  replaceServiceSource,
} from "./chart-sources.ts";
import type { CloudForm } from "./dialect.ts";
import { pathInTheirs } from "./names.ts";
import { dataSchemaOf, isList, observabilityOperationsOfServices, pageQuery, underService } from "./observability.ts";
import {
  createCloudPipe,
  getCloudPipeSettings,
  keptBySettings,
  updateCloudPipe,
  updateCloudPipeSettings,
} from "./pipes.ts";
import type { CloudRoute, Run } from "./route.ts";
import {
  createCloudKey,
  createCloudService,
  getCloudIdentity,
  getPrivateEndpointConfig,
  runServiceQuery,
  updateCloudBackupConfiguration,
  updateCloudOrganization,
  updateCloudServiceState,
  updateServiceTotalScaling,
} from "./services.ts";

type OperationId = keyof typeof managementOperations;

type Placed = CloudForm | readonly [at: string, form: CloudForm];

/** What differs from the operation of ours. `result` tells where its records are. */
type Difference = {
  readonly body?: CloudForm;
  readonly result?: Placed;
  readonly run?: Run;
  readonly query?: z.ZodObject;
  readonly bodySchema?: z.ZodType;
  readonly resultSchema?: z.ZodType;
  readonly keptBy?: CloudRoute["keptBy"];
};

const list = (form: CloudForm): Placed => ["*", form];

const { createKey: keyCreation, updateOrganization: renaming, createService: creation } = managementOperations;
const totals = { minTotalMemoryGb: z.int().nullish(), maxTotalMemoryGb: z.int().nullish() };

const ours: Readonly<Partial<Record<OperationId, Difference>>> = {
  listOrganizations: { result: list("organization") },
  getOrganization: { result: "organization" },
  updateOrganization: { result: "organization", run: updateCloudOrganization, bodySchema: renaming.body.partial() },
  listKeys: { result: list("key") },
  createKey: { result: ["key", "key"], run: createCloudKey, bodySchema: keyCreation.body.partial({ roles: true }) },
  getKey: { result: "key" },
  updateKey: { result: "key" },
  deleteKey: {},
  listServices: { result: list("service"), query: managementOperations.listServices.query.pick({ filter: true }) },
  createService: {
    result: ["service", "service"],
    run: createCloudService,
    bodySchema: creation.body.safeExtend(totals),
  },
  getService: { result: "service" },
  updateService: { result: "service" },
  deleteService: {},
  updateServiceState: { result: "service", run: updateCloudServiceState, resultSchema: serviceDetails },
  updateServiceScaling: { result: "service" },
  updateServicePassword: {},
  listBackups: {},
  getBackup: {},
  getBackupConfiguration: { result: "backupConfiguration" },
  updateBackupConfiguration: { result: "backupConfiguration", run: updateCloudBackupConfiguration },
  listPipes: { result: list("pipe") },
  createPipe: { body: "pipe", result: "pipe", run: createCloudPipe },
  getPipe: { result: "pipe" },
  updatePipe: { body: "pipe", result: "pipe", run: updateCloudPipe },
  deletePipe: {},
  updatePipeState: { result: "pipe" },
  updatePipeScaling: { result: "pipe" },
  getPipeSettings: { result: "settings", run: getCloudPipeSettings },
  updatePipeSettings: { body: "settings", result: "settings", run: updateCloudPipeSettings, keptBy: keptBySettings },
  discoverSchema: { body: "pipe" },
  getPrometheus: { query: managementOperations.getPrometheus.query },
  getQueryEndpoint: {},
  setQueryEndpoint: {},
  deleteQueryEndpoint: {},
  getServicePrometheus: { query: managementOperations.getServicePrometheus.query },
};

const service = "/v1/organizations/{organizationId}/services/{serviceId}";
const sources = `${service}/clickstack/sources`;
const serviceParams = z.object({ organizationId: uuid, serviceId: uuid });
const { listSources, createSource, getSource, replaceSource, deleteSource } = chartSourceOperations;

/** The dialect alone has them. The operation gives the role and the documentation. */
const theirs: readonly CloudRoute[] = [
  route(
    "updateServiceTotalScaling",
    { ...managementOperations.updateServiceScaling, path: `${service}/scaling` },
    {
      result: "service",
      run: updateServiceTotalScaling,
      bodySchema: z.strictObject({
        ...totals,
        idleScaling: z.boolean().optional(),
        idleTimeoutMinutes: z.int().optional(),
        numReplicas: z.int().optional(),
      }),
    },
  ),
  route(
    "getPrivateEndpointConfig",
    operation({
      ...{ method: "GET", tag: "Services", access: "read", params: serviceParams },
      path: `${service}/privateEndpointConfig`,
      summary: "Gets the private endpoint of a service: none",
      result: z.object({ endpointServiceId: z.literal(""), privateDnsHostname: z.literal("") }),
    }),
    { run: getPrivateEndpointConfig },
  ),
  route(
    "whoami",
    {
      ...{ method: "GET", path: "/v1/whoami", tag: "Keys", access: "read", params: z.object({}) },
      summary: "Gets the key of the caller",
      result: z.object({ actorType: z.literal("apiKey"), keyId: uuid, name: z.string(), organizationId: uuid }),
    },
    { run: getCloudIdentity },
  ),
  route(
    "runServiceQuery",
    {
      ...managementOperations.runAtQueryEndpoint,
      path: "/service/{serviceId}/run",
      params: z.object({ serviceId: uuid }),
      // The command line of ClickHouse Cloud says text/plain.
      anyContentType: true,
    },
    { query: managementOperations.runAtQueryEndpoint.query, run: runServiceQuery },
  ),
  route("getCdcScaling", { ...managementOperations.getCdcScaling, path: `${service}/clickpipesCdcScaling` }, {}),
  route("updateCdcScaling", { ...managementOperations.updateCdcScaling, path: `${service}/clickpipesCdcScaling` }, {}),
  route("listServiceSources", ofService(listSources, sources), {
    result: list("chartSource"),
    query: pageQuery,
    resultSchema: z.array(sourceRecord),
    run: listServiceSources,
  }),
  route("createServiceSource", ofService(createSource, sources), sourceBy(createServiceSource)),
  route("getServiceSource", ofService(getSource, `${sources}/{id}`), sourceBy(getServiceSource)),
  route("replaceServiceSource", ofService(replaceSource, `${sources}/{id}`), sourceBy(replaceServiceSource)),
  route("deleteServiceSource", withoutResult(ofService(deleteSource, `${sources}/{id}`)), { run: deleteServiceSource }),
];

/** Such as createServiceAlert at `clickstack/alerts`. */
const kept: readonly CloudRoute[] = Object.entries(observabilityOperationsOfServices).map(([id, operation]) => {
  const { result: _, ...placed } = ofService(
    operation,
    `${service}/clickstack${operation.path.slice("/api/v2".length)}`,
  );
  const { query: __, ...documented } = placed;
  const query = isList(operation) && operation.query !== undefined ? { query: pageQuery } : {};
  const resultSchema = dataSchemaOf(operation);
  const run = underService(id, operation);
  return route(id.replace(/^[a-z]+/, "$&Service"), documented, {
    run,
    ...query,
    ...(resultSchema === undefined ? {} : { resultSchema }),
  });
});

export const cloudRoutes: readonly CloudRoute[] = [
  ...Object.entries(ours).map(([id, difference]) => route(id, managementOperations[id as OperationId], difference)),
  ...theirs,
  ...kept,
];

function route(id: string, operation: Operation, difference: Difference): CloudRoute {
  const { body: bodyForm, result: placed, query, keptBy } = difference;
  const body = difference.bodySchema ?? operation.body;
  const result = difference.resultSchema ?? operation.result;
  const [at, form] = typeof placed === "string" ? ["", placed] : (placed ?? [""]);
  return {
    id,
    method: operation.method,
    path: pathInTheirs(operation.path),
    operation,
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body: { schema: body, ...(bodyForm === undefined ? {} : { form: bodyForm }) } }),
    ...(result === undefined ? {} : { result: { schema: result, at, ...(form === undefined ? {} : { form }) } }),
    run: difference.run ?? ((call, { params, query, body }) => call(id, { params, query, body })),
    ...(keptBy === undefined ? {} : { keptBy }),
  };
}

/** The operation on chart sources under the path of a service. */
function ofService(of: Operation, path: string): Operation {
  return { ...of, path, params: serviceParams.extend(of.params.shape) };
}

function withoutResult({ result: _, ...rest }: Operation): Operation {
  return rest;
}

function sourceBy(run: Run): Difference {
  return { result: "chartSource", resultSchema: sourceRecord, run };
}
