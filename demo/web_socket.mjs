// A WebSocket for Node 18, which has none of its own: as much of RFC 6455 as a client of viewgate needs (text, close, ping),
// with the handlers of the browser's. The SDK takes it as its option WebSocket.

import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const opcode = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 };

export class NodeWebSocket {
  onopen = null;
  onmessage = null;
  onclose = null;
  onerror = null;
  #socket;
  #buffer = Buffer.alloc(0);
  #parts = [];
  #code = 1006;
  #isOver = false;

  constructor(url, protocol) {
    const { hostname, port, pathname } = new URL(url);
    const key = randomBytes(16).toString('base64');
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': key,
      'Sec-WebSocket-Protocol': protocol,
    };
    const upgrade = request({ hostname, port, path: pathname, headers });
    upgrade.on('upgrade', (response, socket, head) => {
      const expected = createHash('sha1').update(key + guid).digest('base64');
      if (response.headers['sec-websocket-accept'] !== expected) return socket.destroy();
      this.#socket = socket;
      socket.on('data', (data) => this.#receive(data));
      socket.on('error', () => {}); // close follows
      socket.on('close', () => this.#over());
      this.onopen?.({});
      if (head.length > 0) this.#receive(head);
    });
    upgrade.on('response', (response) => {
      response.resume();
      this.#over();
    });
    upgrade.on('error', () => this.#over());
    upgrade.end();
  }

  send(text) {
    this.#write(opcode.text, Buffer.from(text));
  }

  close(code = 1000) {
    const body = Buffer.alloc(2);
    body.writeUInt16BE(code);
    this.#write(opcode.close, body);
    this.#socket?.end();
  }

  #over() {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onclose?.({ code: this.#code, reason: '' });
  }

  /** A client masks what it sends. */
  #write(code, body) {
    if (this.#socket === undefined || this.#socket.destroyed) return;
    const long = body.length > 0xffff;
    const head = Buffer.alloc(body.length < 126 ? 2 : long ? 10 : 4);
    head[0] = 0x80 | code;
    head[1] = 0x80 | (body.length < 126 ? body.length : long ? 127 : 126);
    if (long) head.writeBigUInt64BE(BigInt(body.length), 2);
    else if (body.length >= 126) head.writeUInt16BE(body.length, 2);
    const mask = randomBytes(4);
    this.#socket.write(Buffer.concat([head, mask, body.map((byte, i) => byte ^ mask[i & 3])]));
  }

  #receive(data) {
    this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data]);
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) this.#take(frame);
  }

  #next() {
    const buffer = this.#buffer;
    if (buffer.length < 2) return undefined;
    const short = buffer[1] & 0x7f;
    const start = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (buffer.length < start) return undefined;
    const length = short < 126 ? short : short === 126 ? buffer.readUInt16BE(2) : Number(buffer.readBigUInt64BE(2));
    if (buffer.length < start + length) return undefined;
    this.#buffer = buffer.subarray(start + length);
    return { code: buffer[0] & 0x0f, isLast: (buffer[0] & 0x80) !== 0, body: buffer.subarray(start, start + length) };
  }

  #take({ code, isLast, body }) {
    if (code === opcode.ping) return this.#write(opcode.pong, body);
    if (code === opcode.close) {
      this.#code = body.length >= 2 ? body.readUInt16BE(0) : 1005;
      this.#write(opcode.close, body.subarray(0, 2));
      this.#socket.end();
      return;
    }
    if (code !== opcode.text && code !== opcode.continuation) return;
    this.#parts.push(body);
    if (!isLast) return;
    const text = Buffer.concat(this.#parts).toString();
    this.#parts = [];
    this.onmessage?.({ data: text });
  }
}
