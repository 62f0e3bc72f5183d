/**
 * The environment of child processes: an allow-list. Everything else stays in this process, such as our own settings,
 * keys of clouds and databases, and proxies: a child that checks addresses itself must not let a proxy resolve them.
 */
import { dirname } from "node:path";
import { compileCacheFolder } from "./compile-cache.ts";

/** Language and time zone; PATH for what Node looks up; additional authorities of OpenSSL and Node. */
const everywhere = /^(PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|TZDIR|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR)$/;

/**
 * Where an AWS source is when its settings do not say it: the region, and the endpoint of Kinesis, which the checks in
 * this process follow as well.
 */
const awsRegion = /^AWS_(REGION|DEFAULT_REGION|ENDPOINT_URL_KINESIS)$/;

/**
 * What the AWS clients read to find the machine's own credentials: keys, a profile and its files, a web identity (EKS),
 * the endpoint of a container's role (ECS, EKS), options of the instance's metadata service (EC2), and which endpoints
 * to use (STS in private networks). https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html
 */
const awsCredentials =
  /^AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|PROFILE|DEFAULT_PROFILE|CONFIG_FILE|SHARED_CREDENTIALS_FILE|ROLE_ARN|ROLE_SESSION_NAME|WEB_IDENTITY_TOKEN_FILE|CONTAINER_[A-Z_]+|EC2_METADATA_[A-Z0-9_]+|STS_REGIONAL_ENDPOINTS|USE_FIPS_ENDPOINT|USE_DUALSTACK_ENDPOINT|ENDPOINT_URL|ENDPOINT_URL_[A-Z]+|IGNORE_CONFIGURED_ENDPOINT_URLS|CA_BUNDLE)$/;

/** Variables that name a file for the child to read. */
const files = ["NODE_COMPILE_CACHE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"];
const awsFiles = ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE"];
/** Tokens are replaced by new files while the child runs, so it needs their folder, which contains nothing else. */
const awsTokens = ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"];

export type Environment = Record<string, string>;

export type ChildEnvironmentOptions = {
  /** A folder of the child's own, which may be missing: nothing of ours can be found through it. */
  readonly home: string;
  /** Where Node finds what is compiled already (default: our own folder). The child only reads it. */
  readonly compiled?: string | undefined;
  /** `credentials`: the child may use the machine's own, and finds their files below our HOME. Default `none`. */
  readonly aws?: "none" | "region" | "credentials";
};

/** The whole environment of a child, and the files and folders that it names outside of the child's own. */
export function childEnvironment(
  options: ChildEnvironmentOptions,
  // biome-ignore lint/style/noProcessEnv: passed on to the child, not read as configuration.
  ours: NodeJS.ProcessEnv = process.env,
): { environment: Environment; reads: string[] } {
  const { home, compiled = compileCacheFolder(), aws = "none" } = options;
  const patterns = [
    everywhere,
    ...(aws === "none" ? [] : [awsRegion]),
    ...(aws === "credentials" ? [awsCredentials] : []),
  ];
  const passed = Object.entries(ours).filter(([name]) => patterns.some((pattern) => pattern.test(name)));
  const environment: Environment = {
    ...(Object.fromEntries(passed) as Environment),
    HOME: home,
    // The C library then sends its two questions one after the other, without sendmmsg, which no child may call.
    RES_OPTIONS: "single-request",
    ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }),
  };
  const valuesOf = (names: readonly string[]) => names.flatMap((name) => environment[name] ?? []);
  // Without this, an AWS client requests credentials from the machine's metadata service.
  if (aws !== "credentials")
    return { environment: { ...environment, AWS_EC2_METADATA_DISABLED: "true" }, reads: valuesOf(files) };
  const ourHome = ours.HOME ?? home;
  return {
    environment: { ...environment, HOME: ourHome },
    reads: [
      ...valuesOf([...files, ...awsFiles]),
      ...valuesOf(awsTokens).map((path) => dirname(path)),
      `${ourHome}/.aws`,
    ],
  };
}
