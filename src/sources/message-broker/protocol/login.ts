/** Logins at a broker: SASL with PLAIN, SCRAM or OAUTHBEARER. */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { LoginError, requireDone, unauthorized } from "../failures.ts";
import type { Call } from "./call.ts";
import { kafkaCodes } from "./error-codes.ts";
import { apis } from "./versions.ts";

export type Login =
  | {
      readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";
      readonly username: string;
      readonly password: string;
    }
  | { readonly mechanism: "OAUTHBEARER"; token(): Promise<string> };

type Asker = { send<T>(call: Call<T>): Promise<T> };
type Answer = { readonly content: Buffer; readonly lifetimeMs: number };

const minIterations = 4096;
/** A bound, so that a broker cannot keep the process busy. */
const maxIterations = 1_000_000;
const derive = promisify(pbkdf2);

/** The form of the login that a broker has accepted. */
const accepted = new WeakMap<Login, Login>();

/**
 * Calls `open` with the login prepared by SASLprep, as SCRAM requires, and if that fails, with the login as written:
 * Apache Kafka stores names and passwords unprepared. Each attempt needs a connection of its own.
 */
export async function withSpellings<T>(login: Login, open: (login: Login) => Promise<T>): Promise<T> {
  const known = accepted.get(login);
  if (known !== undefined) return await open(known);
  const attempt = async (as: Login) => {
    const opened = await open(as);
    accepted.set(login, as);
    return opened;
  };
  const prepared = await preparedLogin(login);
  if (prepared === undefined) return await attempt(login);
  try {
    return await attempt(prepared);
  } catch (error) {
    // Some brokers only close the connection when they refuse a login.
    return await attempt(login).catch((second) => {
      throw error instanceof LoginError ? second : error;
    });
  }
}

/** Undefined when preparation changes nothing. */
async function preparedLogin(login: Login): Promise<Login | undefined> {
  if (login.mechanism === "PLAIN" || login.mechanism === "OAUTHBEARER") return undefined;
  const [username, password] = [await prepare(login.username), await prepare(login.password)];
  return username === login.username && password === login.password ? undefined : { ...login, username, password };
}

/** Per RFC 4013. A prohibited text is returned unchanged, because the broker may still accept it. */
async function prepare(text: string): Promise<string> {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  const { saslprep } = await import("@mongodb-js/saslprep");
  try {
    return saslprep(text, { allowUnassigned: true });
  } catch {
    return text;
  }
}

/** Lifetime of the session in milliseconds; 0 without a limit. Throws LoginError when the broker refuses the login. */
export async function logIn(connection: Asker, login: Login): Promise<number> {
  await connection.send(handshake(login.mechanism));
  const ask = (content: string) => connection.send(authenticate(content));
  if (login.mechanism === "PLAIN") return (await ask(`\0${login.username}\0${login.password}`)).lifetimeMs;
  if (login.mechanism !== "OAUTHBEARER") return await scram(ask, login.mechanism, login.username, login.password);
  const { content, lifetimeMs } = await ask(`n,,\u0001auth=Bearer ${await login.token()}\u0001\u0001`);
  // A broker that refuses a token answers with the reason, and closes the connection only afterwards.
  if (content.length > 0) throw unauthorized("IAM: the key or role may not connect to the cluster");
  return lifetimeMs;
}

function handshake(mechanism: string): Call<void> {
  return {
    api: apis.saslHandshake,
    write: (to) => void to.string(mechanism),
    read: (from) => {
      const errorCode = from.int16();
      if (errorCode === kafkaCodes.UNSUPPORTED_SASL_MECHANISM) throw new LoginError("mechanism");
      if (errorCode === kafkaCodes.ILLEGAL_SASL_STATE) throw new LoginError("listener");
      requireDone(errorCode, "the login");
    },
  };
}

function authenticate(content: string): Call<Answer> {
  return {
    api: apis.saslAuthenticate,
    write: (to) => void to.bytes(Buffer.from(content)).noTags(),
    read: (from, version) => {
      const errorCode = from.int16();
      from.nullableString(); // errorMessage, not shown: it may repeat a part of the request
      if (errorCode !== 0) throw new LoginError("credentials");
      const answer = from.bytes();
      return { content: answer, lifetimeMs: version >= 1 ? Number(from.int64()) : 0 };
    },
  };
}

/** RFC 5802, without channel binding. */
async function scram(
  ask: (content: string) => Promise<Answer>,
  mechanism: "SCRAM-SHA-256" | "SCRAM-SHA-512",
  username: string,
  password: string,
): Promise<number> {
  const hash = mechanism === "SCRAM-SHA-256" ? "sha256" : "sha512";
  const mac = (key: Buffer, data: string | Buffer) => createHmac(hash, key).update(data).digest();
  const nonce = randomBytes(18).toString("base64url");
  const name = username.replaceAll("=", "=3D").replaceAll(",", "=2C");
  const first = `n=${name},r=${nonce}`;
  const challenge = (await ask(`n,,${first}`)).content.toString();
  const { r = "", s = "", i = "" } = attributesOf(challenge);
  const iterations = Number(i);
  if (!r.startsWith(nonce) || !(iterations >= minIterations && iterations <= maxIterations)) throw untrusted();
  const size = createHash(hash).digest().length;
  const salted = await derive(password, Buffer.from(s, "base64"), iterations, size, hash);
  const clientKey = mac(salted, "Client Key");
  const final = `c=biws,r=${r}`;
  const whole = `${first},${challenge},${final}`;
  const signature = mac(createHash(hash).update(clientKey).digest(), whole);
  const proof = Buffer.from(clientKey.map((byte, at) => byte ^ (signature[at] as number)));
  const { content, lifetimeMs } = await ask(`${final},p=${proof.toString("base64")}`);
  const { v = "" } = attributesOf(content.toString());
  const shown = Buffer.from(v, "base64");
  const expected = mac(mac(salted, "Server Key"), whole);
  if (shown.length !== expected.length || !timingSafeEqual(shown, expected)) throw untrusted();
  return lifetimeMs;
}

/** `r=abc,s=def` by letter. */
function attributesOf(text: string): Partial<Record<string, string>> {
  return Object.fromEntries(text.split(",").map((part) => [part.slice(0, 1), part.slice(2)]));
}

function untrusted(): Error {
  return unauthorized("SCRAM: the broker does not prove that it knows the password");
}
