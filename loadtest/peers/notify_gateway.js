// The gateway that teams write themselves: a trigger notifies, one session listens, every client is sent the text.
//   node notify_gateway.js PORT CONNECTION-URL
const [, , port, url] = process.argv;
const { WebSocketServer, WebSocket } = require('ws');
const { Client } = require('pg');

const server = new WebSocketServer({ host: '127.0.0.1', port: Number(port), perMessageDeflate: false, backlog: 4096 });
const listener = new Client(url);
listener.on('notification', ({ payload }) => {
  for (const client of server.clients) if (client.readyState === WebSocket.OPEN) client.send(payload);
});
listener.connect().then(() => listener.query('listen changes'));
