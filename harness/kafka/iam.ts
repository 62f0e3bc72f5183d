/** A listener that accepts logins like Amazon MSK, as far as Apache Kafka supports it. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** By access key id: its secret, and the session token that must accompany it. */
export type IamKeys = Readonly<Record<string, { readonly secret: string; readonly session?: string }>>;

const validator = fileURLToPath(new URL("./MskTokenValidator.java", import.meta.url));

/** Sessions of the listener end after this time: clients must log in again before. */
export const iamSessionMs = 4_000;

/** Compiles the token validator into a folder of the brokers' class path. */
export function compileValidator(jars: string, folder: string): void {
  execFileSync("javac", ["-nowarn", "-cp", `${jars}/*`, "-d", folder, validator], { stdio: "pipe" });
}

/** Lines of a broker's configuration for the listener of that name. */
export function iamProperties(listener: string, keys: IamKeys): string[] {
  const known = Object.entries(keys).flatMap(([id, { secret, session }]) => [
    `key_${id}="${secret}"`,
    ...(session === undefined ? [] : [`session_${id}="${session}"`]),
  ]);
  const prefix = `listener.name.${listener}.oauthbearer`;
  const login = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule";
  return [
    `${prefix}.sasl.server.callback.handler.class=MskTokenValidator`,
    `${prefix}.sasl.jaas.config=${login} required unsecuredLoginStringClaim_sub="broker" ${known.join(" ")};`,
    `${prefix}.connections.max.reauth.ms=${iamSessionMs}`,
    `listener.name.${listener}.sasl.enabled.mechanisms=OAUTHBEARER`,
    `listener.name.${listener}.ssl.client.auth=none`,
  ];
}
