/** How to reach the brokers: addresses, TLS and SASL, from the configuration. */
import { isIP } from "node:net";
import { type AppError, memberError } from "../../lib/errors.ts";
import { Dialer } from "../../outgoing/dialer.ts";
import type { NetworkContext } from "../contract/source.ts";
import type { MessageBrokerConfig } from "./declaration/kind.ts";
import type { Login } from "./protocol/login.ts";

export type BrokerAddress = { readonly host: string; readonly port: number };

export type BrokerAccess = {
  readonly brokers: readonly BrokerAddress[];
  /** Opens connections to these brokers and to those that the cluster names. */
  readonly dialer: Dialer;
  /** Absent: the brokers are contacted without TLS. */
  readonly tls?: Tls;
  readonly login?: Login;
};

type Tls = {
  /** Certificate authorities and our own certificate, in PEM. */
  readonly options: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** True when the handshake sends the broker's name (SNI). */
  readonly sendsName: boolean;
};

const defaultPort = 9092;
const hosted = ["msk", "gcmk", "confluent", "warpstream", "azureeventhub", "dokafka"];

/** `host:port`, `[v6]:port`, optionally after a security protocol such as `SASL_SSL://`. */
const addressForm =
  /^(?:(PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL):\/\/)?(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+)(?::(\d{1,5}))?$/;

/** Throws SOURCE_INVALID for what cannot be parsed or is not available. */
export function brokerAccessOf(config: MessageBrokerConfig, network: NetworkContext): BrokerAccess {
  const parts = listOf(config.brokers).map((text) => {
    const match = addressForm.exec(text);
    const port = Number(match?.[3] ?? defaultPort);
    if (match === null || port < 1 || port > 65535) {
      // What stands before an @ may be a password.
      const shown = text.includes("@") ? "what contains @" : `"${text}"`;
      throw invalid("brokers", `${shown} is not host:port; logins belong into credentials`);
    }
    return { protocol: match[1], host: (match[2] as string).replaceAll(/[[\]]/g, ""), port };
  });
  if (parts.length === 0) throw invalid("brokers", "name at least one host:port");
  const named = parts.map(({ protocol }) => protocol).find((protocol) => protocol !== undefined);
  const tls = named === undefined ? impliesTls(config) : named.endsWith("SSL");
  const login = loginOf(config, parts, network);
  return {
    brokers: parts.map(({ host, port }) => ({ host, port })),
    dialer: new Dialer(network.policy, "source.messageBroker.brokers"),
    ...(tls ? { tls: tlsOf(config, parts) } : {}),
    ...(login === undefined ? {} : { login }),
  };
}

export function topicsOf(config: MessageBrokerConfig): string[] {
  return [...new Set(listOf(config.topics))];
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Decides for brokers without a protocol prefix: TLS is implied by a certificate, and by hosted brokers. */
function impliesTls(config: MessageBrokerConfig): boolean {
  if (config.caCertificate !== undefined || config.authentication === "MUTUAL_TLS" || usesIam(config)) return true;
  return hosted.includes(config.type ?? "kafka");
}

function tlsOf(config: MessageBrokerConfig, brokers: readonly BrokerAddress[]): Tls {
  const { credentials, caCertificate } = config;
  const pair = credentials !== undefined && "certificate" in credentials ? credentials : undefined;
  return {
    options: {
      ...(caCertificate === undefined ? {} : { ca: caCertificate }),
      ...(pair === undefined ? {} : { cert: pair.certificate, key: pair.privateKey }),
    },
    // An IP address may not be sent as SNI; the certificate is checked against it all the same.
    sendsName: brokers.every(({ host }) => isIP(host) === 0),
  };
}

function loginOf(
  config: MessageBrokerConfig,
  brokers: readonly BrokerAddress[],
  network: NetworkContext,
): Login | undefined {
  const { credentials } = config;
  const authentication = config.authentication ?? inferredAuthentication(config);
  if (authentication === undefined || authentication === "MUTUAL_TLS") return undefined;
  if (authentication === "IAM_ROLE" || authentication === "IAM_USER") return iamOf(config, brokers, network);
  if (credentials !== undefined && "connectionString" in credentials) {
    // Event Hubs: this fixed name means that the password is a connection string.
    return { mechanism: "PLAIN", username: "$ConnectionString", password: credentials.connectionString };
  }
  if (credentials === undefined || !("username" in credentials)) {
    throw invalid("credentials", `${authentication} needs username and password`);
  }
  return { mechanism: authentication, username: credentials.username, password: credentials.password };
}

function invalid(member: string, message: string): AppError {
  return memberError("SOURCE_INVALID", `source.messageBroker.${member}`, message);
}

function usesIam(config: MessageBrokerConfig): boolean {
  return ["IAM_ROLE", "IAM_USER"].includes(config.authentication ?? inferredAuthentication(config) ?? "");
}

function iamOf(
  { authentication, credentials, iamRole }: MessageBrokerConfig,
  brokers: readonly BrokerAddress[],
  network: NetworkContext,
): Login {
  const accessKey = credentials !== undefined && "accessKeyId" in credentials ? credentials : undefined;
  if (authentication === "IAM_USER" && accessKey === undefined) {
    throw invalid("credentials", "IAM_USER needs accessKeyId and secretKey");
  }
  const access = authentication === "IAM_ROLE" ? { authentication, iamRole } : { accessKey, iamRole };
  const hosts = brokers.map(({ host }) => host);
  let tokens: Promise<() => Promise<string>> | undefined;
  const token = async () => {
    tokens ??= import("../aws/msk-token.ts").then(({ mskTokens }) => mskTokens(access, hosts, network));
    return await (await tokens)();
  };
  return { mechanism: "OAUTHBEARER", token };
}

function inferredAuthentication({ credentials, iamRole }: MessageBrokerConfig): MessageBrokerConfig["authentication"] {
  if (credentials === undefined) return iamRole === undefined ? undefined : "IAM_ROLE";
  if ("certificate" in credentials) return "MUTUAL_TLS";
  return "accessKeyId" in credentials ? "IAM_USER" : "PLAIN";
}
