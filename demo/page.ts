// What both pages need: their parts by name, where the gateway is, and a token from the page server.

export function part<T extends Element = HTMLElement>(selector: string): T {
  const found = document.querySelector<T>(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}

export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** The gateway may still be on its way up: its address comes when it listens. */
export async function findGateway(): Promise<string> {
  for (;;) {
    try {
      const config = (await (await fetch('/config')).json()) as { gateway: string | null };
      if (config.gateway !== null) return config.gateway;
    } catch {
      // The page server is on its way as well.
    }
    await new Promise((next) => setTimeout(next, 400));
  }
}

/** For a teller (`digit=3`) or one of the people (`person=ada`). */
export async function tokenFor(whom: string): Promise<string> {
  const answer = await fetch(`/token?${whom}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.text();
}
