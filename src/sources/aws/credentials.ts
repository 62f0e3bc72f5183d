/** Credentials of a source in AWS, and of stores with the same signatures: a given key, or an assumed role. */
import { AppError, memberError } from "../../lib/errors.ts";
import { connectionFailure, errorWord } from "../../outgoing/connection-failure.ts";
import { addressRefusalOf, Dialer } from "../../outgoing/dialer.ts";
import { agentsOf } from "../../outgoing/http.ts";
import type { NetworkContext } from "../contract/source.ts";
import { answersInTime } from "./request-handler.ts";

export type AwsCredentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
};

/** The members of a source that determine its credentials. */
export type AwsAccess = {
  readonly accessKey?: { readonly accessKeyId: string; readonly secretKey: string } | undefined;
  readonly authentication?: string | undefined;
  readonly iamRole?: string | undefined;
};

/**
 * undefined: neither a key nor a role is given, so requests cannot be signed. A role is assumed with the organization's
 * id as external id, so that the role's owner can refuse other organizations of the same server ("confused deputy",
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html). Rejects with AppError SOURCE_* of `iamRole` in
 * `source`, the path of the source in its request.
 */
export function credentialsOf(
  source: string,
  access: AwsAccess,
  region: string,
  network: NetworkContext,
): (() => Promise<AwsCredentials>) | undefined {
  if (access.accessKey !== undefined) {
    const { accessKeyId, secretKey } = access.accessKey;
    return async () => ({ accessKeyId, secretAccessKey: secretKey });
  }
  if (access.authentication !== "IAM_ROLE" && access.iamRole === undefined) return undefined;
  const member = `${source}.iamRole`;
  return renewing(async () => {
    try {
      return await (await roleProvider(member, access.iamRole, region, network))();
    } catch (error) {
      throw roleError(error, member, region);
    }
  });
}

function roleError(error: unknown, member: string, region: string): AppError {
  if (error instanceof AppError) return error;
  const refused = addressRefusalOf(error);
  if (refused !== undefined) return refused;
  const { name } = error as Error;
  if (name === "CredentialsProviderError") {
    const message = "this machine has no AWS credentials to assume a role with; give a key, or configure them";
    return memberError("SOURCE_UNAUTHORIZED", member, message, error);
  }
  const unreachable = connectionFailure(error, `the STS endpoint of ${region}`);
  if (unreachable !== undefined) {
    return memberError("SOURCE_UNREACHABLE", member, `the role cannot be assumed: ${unreachable}`, error);
  }
  return memberError(
    "SOURCE_UNAUTHORIZED",
    member,
    `AWS gives no credentials for iamRole (${errorWord(name)}).`,
    error,
  );
}

/** The role's credentials, or the machine's own. Loaded only here: it takes longer than everything else. */
async function roleProvider(member: string, role: string | undefined, region: string, network: NetworkContext) {
  const { fromNodeProviderChain, fromTemporaryCredentials } = await import("@aws-sdk/credential-providers");
  const clientConfig = { region };
  if (role === undefined) return fromNodeProviderChain({ clientConfig });
  const params = {
    RoleArn: role,
    RoleSessionName: "millrace-pipe",
    DurationSeconds: 3600,
    ExternalId: network.organizationId,
  };
  const agents = agentsOf(new Dialer(network.policy, member));
  return fromTemporaryCredentials({ params, clientConfig: { ...clientConfig, requestHandler: answersInTime(agents) } });
}

/**
 * Caches credentials until ten minutes before they expire: an insert that begins with them can still finish with them.
 */
function renewing(
  provider: () => Promise<AwsCredentials & { readonly expiration?: Date }>,
): () => Promise<AwsCredentials> {
  let held: (AwsCredentials & { readonly expiration?: Date }) | undefined;
  return async () => {
    const left = (held?.expiration?.getTime() ?? Number.POSITIVE_INFINITY) - Date.now();
    if (held === undefined || left < 600_000) held = await provider();
    return held;
  };
}
