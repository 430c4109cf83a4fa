// Tokens of clients of live channels, signed with the secret `secret`.
'use strict';

const crypto = require('node:crypto');

// A value as a part of a token.
const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function token(claims) {
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${crypto.createHmac('sha256', 'secret').update(text).digest('base64url')}`;
}

// Seconds of the Unix clock, as claims have them.
const now = () => Math.floor(Date.now() / 1000);

module.exports = { now, part, token };
