// Loaded before a server that listens on all addresses and says its port only as it was given: it listens on loopback
// alone, on any free port, and says on standard error where.
//
// Usage: node --require ./loopback.cjs SERVER, with LOOPBACK_PATH for the path of its endpoint
const { Server } = require("node:net");

const listen = Server.prototype.listen;
Server.prototype.listen = function (_port, ...rest) {
  const done = rest.find((one) => typeof one === "function");
  this.once("listening", () => {
    process.stderr.write(`listening on http://127.0.0.1:${this.address().port}${process.env.LOOPBACK_PATH}\n`);
  });
  return listen.call(this, 0, "127.0.0.1", done);
};
