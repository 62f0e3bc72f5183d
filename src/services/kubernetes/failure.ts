/** What a failed request to the API server of Kubernetes means to the users and the operator of Millrace. */
import { AppError, type Issue } from "../../lib/errors.ts";
import { parsedJson } from "../../lib/json.ts";
import { connectionFailure } from "../../outgoing/connection-failure.ts";

/** The `Status` that the API server answers a refused request with. */
type Status = {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly field?: string; readonly message?: string }[] };
};

/** Fields of an installation that a member of a service determines. The first match counts. */
const members: readonly (readonly [field: RegExp, member: string])[] = [
  [/replicasCount/, "numReplicas"],
  [/volumeClaimTemplates|storage/, "diskGb"],
  [/resources|memory|cpu/, "maxReplicaMemoryGb"],
];

/** Without the hashes of passwords, which a cluster may repeat from an installation. */
export function withoutHashes(text: string): string {
  return text.replaceAll(/\b[0-9a-f]{64}\b/gi, "[hash]");
}

/** True when the object, or what it is in, does not exist. */
export function isAbsent(error: unknown): boolean {
  return (error as { code?: unknown }).code === 404 && statusOf(error)?.details !== undefined;
}

/** `what` names the request as a verb and its object. Throws nothing: returns KUBERNETES_UNREACHABLE or _REFUSED. */
export function kubernetesFailure(error: unknown, url: string, what: string): AppError {
  if (error instanceof AppError) return error;
  const { code, message } = error as { code?: unknown; message?: unknown };
  // The end of the time to answer has a number too, which is not a status.
  if (typeof code !== "number" || error instanceof DOMException) {
    if (/^Unrecognized API version and kind/.test(String(message))) return missingResource(error);
    const text = connectionFailure(error, url) ?? `no answer from ${url}`;
    return new AppError("KUBERNETES_UNREACHABLE", `The API server of Kubernetes: ${text}.`, { cause: error });
  }
  const status = statusOf(error);
  const said = withoutHashes(status?.message ?? `status ${code}`).replace(/\.$/, "");
  const refused = (text: string, issues?: readonly Issue[]) =>
    new AppError("KUBERNETES_REFUSED", text, { cause: error, ...(issues === undefined ? {} : { issues }) });
  if (code === 401) {
    return refused(`The API server at ${url} does not accept the credentials of Millrace; check --kubernetes-config.`);
  }
  if (code === 403 && !/exceeded quota|forbidden: (maximum|minimum|max)/.test(said)) {
    return refused(`Millrace may not ${what}: ${said}. Grant it with a Role: docs/kubernetes.md.`);
  }
  if (code === 404) return status?.details === undefined ? missingResource(error) : refused(`Kubernetes: ${said}.`);
  if (code === 409) {
    const message = "Another program changes the installation in Kubernetes; it is looked at again.";
    return new AppError("KUBERNETES_UNREACHABLE", message, { cause: error });
  }
  if (code === 429 || code >= 500) {
    return new AppError("KUBERNETES_UNREACHABLE", `The API server of Kubernetes is busy: ${said}.`, { cause: error });
  }
  return refused(`Kubernetes refuses to ${what}: ${said}.`, issuesOf(status, said));
}

function missingResource(cause: unknown): AppError {
  const message =
    "The cluster does not know the kind ClickHouseInstallation: install the Altinity operator for ClickHouse.";
  return new AppError("KUBERNETES_REFUSED", message, { cause });
}

function statusOf(error: unknown): Status | undefined {
  const { body } = error as { body?: unknown };
  // A proxy in between may answer with a page.
  const status = typeof body === "string" ? parsedJson(body) : body;
  return typeof status === "object" && status !== null ? (status as Status) : undefined;
}

function issuesOf(status: Status | undefined, said: string): Issue[] {
  const causes = status?.details?.causes ?? [];
  const named = causes.filter(({ field }) => field !== undefined && field !== "");
  if (named.length > 0) {
    return named.map(({ field = "", message = said }) => ({
      path: memberOf(field) ?? field,
      message: withoutHashes(`${field}: ${message}`),
    }));
  }
  const member = memberOf(said);
  return member === undefined ? [] : [{ path: member, message: said }];
}

function memberOf(field: string): string | undefined {
  return members.find(([pattern]) => pattern.test(field))?.[1];
}
