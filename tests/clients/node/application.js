// An application that live channels ask over HTTP: each path has an answer of its own.
'use strict';

const http = require('node:http');
const https = require('node:https');

class Application {
  // Requests, in their order: { path, headers, body, certificate }.
  asked = [];
  // By path, a function of the body and the request that returns what is sent as JSON, or of (body, response)
  // marked with `raw` that answers itself.
  answers = {};

  constructor(tls) {
    const answer = (request, response) => {
      let text = '';
      request.on('data', (piece) => { text += piece; });
      request.on('end', () => this.#answer(request, response, text));
    };
    this.server = tls ? https.createServer(tls, answer) : http.createServer(answer);
  }

  async listen() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.port = this.server.address().port;
    return this;
  }

  #answer(request, response, text) {
    const path = request.url.slice(1);
    const body = text && JSON.parse(text);
    const certificate = request.socket.getPeerCertificate?.()?.subject?.CN;
    this.asked.push({ path, headers: request.headers, body, certificate, port: request.socket.remotePort });
    const answer = this.answers[path];
    if (!answer) return response.writeHead(404).end();
    if (answer.raw) return answer.raw(response, body);
    return response.end(JSON.stringify(answer(body)));
  }

  of(path) {
    return this.asked.filter((one) => one.path === path);
  }

  close() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }
}

// What applications do wrong: an answer is none of these.
const FAILURES = {
  garbage: { raw: (response) => response.end('garbage') },
  list: { raw: (response) => response.end('[]') },
  wrong: { raw: (response) => response.end('{"result": {"data": {}, "b64data": 7, "user": [], "expire_at": {}, "tags": 1}}') },
  muchness: { raw: (response) => response.end(`{"result": {"data": "${'x'.repeat(5 << 20)}"}}`) },
  endless: {
    raw: (response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(1 << 16)));
      };
      response.on('drain', more).on('error', () => {});
      more();
    },
  },
  half: {
    raw: (response) => {
      response.writeHead(200, { 'Content-Length': '1000' });
      response.write('{"result": {}', () => response.destroy());
    },
  },
  closed: { raw: (response) => response.destroy() },
  status: { raw: (response) => response.writeHead(500).end('{"result": {}}') },
  moved: { raw: (response) => response.writeHead(302, { Location: '/rpc' }).end() },
  slow: { raw: () => {} },
};

module.exports = { Application, FAILURES };
