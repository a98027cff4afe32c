// A link between a client and the gateway that can turn into a black hole: nothing comes through any more, and neither side is told, as behind
// a router that has forgotten a connection.

import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

interface Link {
  readonly ends: readonly Socket[];
  isHole: boolean;
}

export class Gate {
  /** So many connections were made. */
  connections = 0;
  private readonly links = new Set<Link>();
  private readonly server = createServer((near) => this.accept(near));

  /** `target`: the socket's address behind it. */
  constructor(private readonly target: () => string) {}

  /** Resolves with the address before it. */
  listen(): Promise<string> {
    return new Promise((resolve) => {
      this.server.listen(0, '127.0.0.1', () => {
        const url = new URL(this.target());
        url.host = `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
        resolve(url.href);
      });
    });
  }

  /** Of the links of this moment; new ones are whole. */
  swallow(): void {
    for (const link of this.links) link.isHole = true;
  }

  close(): void {
    this.server.close();
    for (const { ends } of this.links) for (const end of ends) end.destroy();
  }

  private accept(near: Socket): void {
    this.connections++;
    const { hostname, port } = new URL(this.target());
    const far = connect(Number(port), hostname);
    const link: Link = { ends: [near, far], isHole: false };
    this.links.add(link);
    for (const [from, to] of [[near, far], [far, near]] as const) {
      from.on('data', (data) => link.isHole || to.write(data));
      from.on('close', () => link.isHole || to.destroy());
      from.on('error', () => undefined); // close follows
    }
  }
}
