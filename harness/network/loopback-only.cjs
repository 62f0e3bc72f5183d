// Preloaded into stand-ins without an option for their listen address: restricts them to 127.0.0.1.
const net = require("node:net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (first, ...rest) {
  if (typeof first === "object" && first !== null && first.port !== undefined) {
    return listen.call(this, { ...first, host: "127.0.0.1" }, ...rest);
  }
  if (/^\d+$/.test(String(first))) {
    const others = typeof rest[0] === "string" ? rest.slice(1) : rest;
    return listen.call(this, first, "127.0.0.1", ...others);
  }
  return listen.call(this, first, ...rest);
};
