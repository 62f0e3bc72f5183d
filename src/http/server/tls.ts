/** The certificate of the two APIs, which may be renewed while they listen. */
import type { Server } from "node:http";
import type { Http2Server } from "node:http2";
import type { SecureContext, Server as TlsServer } from "node:tls";
import type { CertificateFiles } from "../../lib/certificate-files.ts";

/**
 * Options of a TLS server. With the host localhost the router opens a second listener, which nothing else reaches: the
 * callback tells it the renewed certificate, for clients that send a name.
 */
export function tlsOptions(tls: CertificateFiles) {
  type Done = (error: null, context: SecureContext) => void;
  return { ...tls.pair, SNICallback: (_name: string, done: Done) => done(null, tls.context) };
}

/** New connections to the server get every later certificate. */
export function followCertificate(server: Server | Http2Server, tls: CertificateFiles): void {
  tls.onRenewed((pair) => (server as unknown as TlsServer).setSecureContext(pair));
}
