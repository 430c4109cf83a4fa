// Connections that fail a test instead of papering over a dropped socket, in either protocol.
'use strict';

const { after, before, beforeEach, describe } = require('node:test');
// Through NODE_PATH: the packages are installed outside of the source tree.
const { Redis } = require('ioredis');
const { start } = require('./server.js');

// Ends tests that would otherwise hang; nothing is measured by it.
const PATIENCE_S = 180;

// No retries: a dropped connection is an error.
function connect(server, options = {}) {
  return new Redis({ port: server.port, connectTimeout: PATIENCE_S * 1000, retryStrategy: null, maxRetriesPerRequest: 0, ...options });
}

// Defines tests twice, over RESP2 and RESP3. `tests` is given a world: `world.redis` is a
// connection to a server of its own, which is empty when a test begins; `world.connect()` opens
// another one, which is closed when the test has ended.
function bothProtocols(tests) {
  for (const protocol of [2, 3]) {
    describe(`RESP${protocol}`, () => {
      const opened = [];
      const world = {
        protocol,
        connect() {
          opened.push(connect(world.server, { protocol }));
          return opened.at(-1);
        },
      };
      before(async () => {
        world.server = await start();
        world.redis = connect(world.server, { protocol });
      });
      beforeEach(async () => {
        opened.splice(0).forEach((client) => client.disconnect());
        await world.redis.flushall();
      });
      after(async () => {
        [...opened, world.redis].forEach((client) => client?.disconnect());
        await world.server?.stop();
      });
      tests(world);
    });
  }
}

module.exports = { PATIENCE_S, bothProtocols, connect };
