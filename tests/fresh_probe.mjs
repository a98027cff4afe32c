// What a newcomer's browser would do after ./dev run, without a browser: asks the demo's server for a token, opens the view
// `overdrawn` of branch 1 on the gateway's socket, and ends well once it has its records, is ready and has seen three commits.
// A machine that has nothing has a Node without WebSocket, so the few frames that are needed are written here.
//
//   node tests/fresh_probe.mjs http://127.0.0.1:8090/

import { randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { connect } from 'node:net';

const page = new URL(process.argv[2]);
const timeLimit = setTimeout(() => fail('nothing complete arrived in 60 s'), 60_000);
let records = 0;
let commits = 0;
let isReady = false;

function fail(why) {
  process.stderr.write(`probe: ${why} (${records} records, ready: ${isReady}, ${commits} commits)\n`);
  process.exit(1);
}

function fetchText(path) {
  return new Promise((resolve, reject) => {
    get(new URL(path, page), (response) => {
      let body = '';
      response.on('data', (data) => (body += data));
      response.on('end', () => (response.statusCode === 200 ? resolve(body) : reject(new Error(`${path}: ${body}`))));
    }).on('error', reject);
  });
}

function frameOf(document) {
  const payload = Buffer.from(JSON.stringify(document));
  const mask = randomBytes(4);
  const head = Buffer.alloc(payload.length < 126 ? 2 : 4);
  head[0] = 0x81;
  head[1] = 0x80 | (payload.length < 126 ? payload.length : 126);
  if (payload.length >= 126) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ mask[i % 4])]);
}

/** Takes whole frames off the front; returns their texts and what is left. */
function textsOf(bytes) {
  const texts = [];
  for (;;) {
    if (bytes.length < 2) return [texts, bytes];
    const short = bytes[1] & 0x7f;
    const start = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (bytes.length < start) return [texts, bytes];
    const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (bytes.length < start + length) return [texts, bytes];
    const payload = bytes.subarray(start, start + length);
    if ((bytes[0] & 0x0f) === 8) fail(`the gateway closed with ${payload.readUInt16BE(0)} ${payload.subarray(2)}`);
    texts.push(payload.toString());
    bytes = bytes.subarray(start + length);
  }
}

function take(document) {
  if (document.type === 'error') fail(JSON.stringify(document));
  if (document.type === 'snapshot') records += document.records.length;
  if (document.type === 'ready') isReady = true;
  if (document.type === 'commit') commits += 1;
  if (isReady && records > 0 && commits >= 3) {
    clearTimeout(timeLimit);
    process.stdout.write(`   ${records} records, then commits up to ${document.sequence}\n`);
    process.exit(0);
  }
}

const token = (await fetchText('/token?digit=1')).trim();
const gateway = new URL(JSON.parse(await fetchText('/config')).gateway);
const socket = connect(Number(gateway.port), gateway.hostname);
socket.on('error', (error) => fail(error.message));
socket.on('close', () => fail('the gateway hung up'));
socket.write(
  `GET ${gateway.pathname} HTTP/1.1\r\nHost: ${gateway.host}\r\nOrigin: ${page.origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Protocol: viewgate.v1\r\n\r\n`,
);
let bytes = Buffer.alloc(0);
let isOpen = false;
socket.on('data', (data) => {
  bytes = Buffer.concat([bytes, data]);
  if (!isOpen) {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return;
    const status = bytes.subarray(0, bytes.indexOf('\r\n')).toString();
    if (!status.includes(' 101 ')) fail(status);
    isOpen = true;
    bytes = bytes.subarray(end + 4);
    socket.write(frameOf({ type: 'hello', protocol: 1, token: token.startsWith('{') ? JSON.parse(token).token : token }));
    socket.write(frameOf({ type: 'subscribe', id: 'probe', space: '1', view: 'overdrawn' }));
  }
  const [texts, rest] = textsOf(bytes);
  bytes = rest;
  for (const text of texts) for (const line of text.split('\n')) if (line !== '') take(JSON.parse(line));
});
