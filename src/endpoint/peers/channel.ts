/**
 * Encrypted connections between the servers of an installation. Both sides prove in the TLS handshake that they have
 * the same key (TLS-PSK, RFC 5489), so there are no certificates, and nobody else can name a client.
 */
import { hkdfSync } from "node:crypto";
import { type ConnectionOptions, connect, createServer, type Server } from "node:tls";
import type { UpstreamConnector } from "../forward/upstream-connection.ts";

/** The only kind of handshake with this key; it has forward secrecy. */
const tls = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
} as const;
const identity = "millrace";
const connectTimeoutMs = 5_000;
/** A connection whose other end has vanished is noticed by it. */
const keptAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 } as const;

/** The key of these connections, from the key that all servers of the installation have. */
export function relayKeyOf(secretKey: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", secretKey, "", "millrace relay", 32));
}

/** Opens connections to the relay of another server, which is at `host:port`. */
export function relayConnector(address: string, key: Buffer): UpstreamConnector {
  const { hostname, port } = new URL(`tls://${address}`);
  const options = {
    ...tls,
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port),
    ...keptAlive,
    pskCallback: () => ({ psk: key, identity }),
    // The key has identified the server.
    checkServerIdentity: () => undefined,
  };
  return {
    readyEvent: "secureConnect",
    open: (onread) => {
      // The types of the library do not know `onread` here.
      const whole: ConnectionOptions = Object.assign({ onread }, options);
      const socket = connect(whole);
      const giveUp = () => socket.destroy(new Error(`no connection within ${connectTimeoutMs / 1000} s`));
      const timer = setTimeout(giveUp, connectTimeoutMs);
      const end = () => clearTimeout(timer);
      socket.once("secureConnect", end).once("close", end);
      return socket;
    },
  };
}

/** A server whose `secureConnection` events are connections of holders of the key. */
export function relayServer(key: Buffer): Server {
  return createServer({
    ...tls,
    ...keptAlive,
    handshakeTimeout: connectTimeoutMs,
    pskCallback: (_socket, name) => (name === identity ? key : null),
  });
}
