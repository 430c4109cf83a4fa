// Starts the apus binary, named by APUS_BIN, for a test.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');

// A port that nobody listens on. It lies below those that the system gives to outgoing connections: none of them can
// take it, and none that waits for a server to listen can meet itself there.
function freePort() {
  return new Promise((resolve) => {
    const port = 10240 + Math.floor(Math.random() * (32768 - 10240));
    const probe = net.createServer();
    probe.once('error', () => resolve(freePort()));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(port)));
  });
}

// Resolves to { port, stop } once the server accepts connections.
async function start(...options) {
  const binary = process.env.APUS_BIN;
  if (!binary) throw new Error('APUS_BIN must name the apus binary');
  const port = await freePort();
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'apus-test-'));
  const args = ['serve', '--port', String(port), '--dir', dir, '--save', '', ...options];
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await new Promise((resolve, reject) => {
    const log = [];
    child.once('error', reject);
    // Reads on after the server is ready, so that it never blocks on its log.
    const lines = readline.createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      log.push(line);
      if (line.includes('Ready to accept connections')) resolve();
    });
    lines.on('close', () => reject(new Error(`the server ended early:\n${log.join('\n')}`)));
  });
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      await ended;
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}

module.exports = { freePort, start };
