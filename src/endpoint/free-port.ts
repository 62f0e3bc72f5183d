import { createServer } from "node:net";

/** A port that nobody listens on now; it becomes a service's for good. Rejects when the host is none of this machine. */
export function freePort(host: string): Promise<number> {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.once("error", fail);
    probe.listen({ host, port: 0 }, () => {
      const address = probe.address();
      probe.close(() => done(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
