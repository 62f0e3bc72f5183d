/** Headers of one connection (RFC 9110, 7.6.1), in lower case: nothing that forwards a message passes them on. */
export const hopHeaders: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade"],
]);
