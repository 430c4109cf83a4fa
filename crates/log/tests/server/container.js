// Creates a container in Azurite: `node container.js PORT ACCOUNT KEY NAME`. The signature is Azure's
// "Shared Key": https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
'use strict';
const crypto = require('node:crypto');
const http = require('node:http');

const [port, account, key, name] = process.argv.slice(2);
const headers = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2021-08-06' };
const signed = [
    // The method, and eleven standard headers that are not sent.
    'PUT', ...Array(11).fill(''),
    ...Object.entries(headers).map(([k, v]) => `${k}:${v}`),
    // The account is also the first part of the path on a server that is not Azure's.
    `/${account}/${account}/${name}`, 'restype:container',
].join('\n');
const sum = crypto.createHmac('sha256', Buffer.from(key, 'base64')).update(signed).digest('base64');
const request = http.request({
    host: '127.0.0.1',
    port,
    method: 'PUT',
    path: `/${account}/${name}?restype=container`,
    headers: { ...headers, 'Content-Length': 0, Authorization: `SharedKey ${account}:${sum}` },
}, (answer) => {
    process.exitCode = answer.statusCode === 201 ? 0 : 1;
    answer.pipe(process.stderr);
});
request.end();
