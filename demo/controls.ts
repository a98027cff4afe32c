// What the person chose: branch, view, range, teller. It stands in the address, so a reload and a link keep it.

import { part } from './page.js';

export interface Choice {
  readonly branch: string;
  readonly view: 'overdrawn' | 'watch';
  readonly low: number;
  readonly high: number;
  readonly digit: string;
}

/** The view as SQL, with what was chosen in it. */
export function sqlOf(choice: Choice): string {
  const { branch, low, high, digit } = choice;
  return choice.view === 'overdrawn'
    ? `select aid, bid, abalance\nfrom accounts\nwhere abalance < 0\n-- space: bid = ${branch}`
    : `select aid, abalance\nfrom accounts\nwhere abalance between ${low} and ${high}\n  and aid % 10 = ${digit}\n-- space: bid = ${branch}`;
}

export class Controls {
  private readonly form = part<HTMLFormElement>('#controls');
  private readonly low = part<HTMLInputElement>('#low');
  private readonly high = part<HTMLInputElement>('#high');
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly onChoice: (choice: Choice) => void) {
    radios('#branches', 'branch', range(1, 10), 'branch');
    radios('#tellers', 'digit', range(0, 9), 'teller');
    this.restore();
    this.form.addEventListener('input', (event) => {
      if (event.target instanceof HTMLInputElement && event.target.id === 'rate') return;
      this.show();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.chosen(), event.target === this.low || event.target === this.high ? 350 : 0);
    });
    this.form.addEventListener('submit', (event) => event.preventDefault());
    this.show();
  }

  get choice(): Choice {
    const data = new FormData(this.form);
    return {
      branch: String(data.get('branch') ?? '1'),
      view: data.get('view') === 'watch' ? 'watch' : 'overdrawn',
      low: Math.trunc(this.low.valueAsNumber) || 0,
      high: Math.trunc(this.high.valueAsNumber) || 0,
      digit: String(data.get('digit') ?? '0'),
    };
  }

  private chosen(): void {
    const { choice } = this;
    const address = new URLSearchParams(Object.entries(choice).map(([name, value]) => [name, String(value)]));
    window.history.replaceState(null, '', `#${address.toString()}`);
    this.onChoice(choice);
  }

  private show(): void {
    part('#range').hidden = this.choice.view !== 'watch';
    part('#sql').textContent = sqlOf(this.choice);
  }

  private restore(): void {
    const address = new URLSearchParams(window.location.hash.slice(1));
    for (const name of ['branch', 'view', 'digit']) {
      const value = address.get(name) ?? (name === 'view' ? 'overdrawn' : name === 'digit' ? '3' : '1');
      for (const input of this.form.querySelectorAll<HTMLInputElement>(`input[name="${name}"]`)) {
        input.checked = input.value === value;
      }
      const first = this.form.querySelector<HTMLInputElement>(`input[name="${name}"]`);
      if (this.form.querySelector(`input[name="${name}"]:checked`) === null && first !== null) first.checked = true;
    }
    if (address.has('low')) this.low.value = address.get('low') ?? '';
    if (address.has('high')) this.high.value = address.get('high') ?? '';
  }
}

function range(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, i) => String(from + i));
}

function radios(selector: string, name: string, values: readonly string[], label: string): void {
  part(selector).replaceChildren(
    ...values.map((value) => {
      const outer = document.createElement('label');
      const input = document.createElement('input');
      const text = document.createElement('span');
      input.type = 'radio';
      input.name = name;
      input.value = value;
      input.setAttribute('aria-label', `${label} ${value}`);
      text.textContent = value;
      text.setAttribute('aria-hidden', 'true');
      outer.append(input, text);
      return outer;
    }),
  );
}

/** What the page server says of pgbench. */
interface Rate {
  readonly rate: number | 'full';
  readonly failure: string | null;
}

const rates = [0, 10, 100, 1000, 'full'] as const;

/** The slider of pgbench's rate: its places are the rates above, and it shows what the server runs. */
export class RateSlider {
  private readonly slider = part<HTMLInputElement>('#rate');
  private readonly text = part('#rate-text');
  private sending = false;
  /** How often a rate was sent: what was asked before the last time is old. */
  private sent = 0;

  constructor() {
    part('#rates').replaceChildren(
      ...rates.map((_, i) => {
        const option = document.createElement('option');
        option.value = String(i);
        return option;
      }),
    );
    this.slider.addEventListener('input', () => this.describe(this.chosen(), true));
    this.slider.addEventListener('change', () => void this.send());
    void this.look();
    setInterval(() => void this.look(), 3_000);
  }

  private chosen(): number | 'full' {
    return rates[Number(this.slider.value)] ?? 0;
  }

  private async send(): Promise<void> {
    this.sending = true;
    this.sent++;
    try {
      const body = JSON.stringify({ rate: this.chosen() });
      const answer = await fetch('/rate', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      if (answer.ok) this.told((await answer.json()) as Rate);
      else this.text.textContent = `the rate is as it was: ${(await answer.text()).trim()}`;
    } catch {
      this.text.textContent = 'the demo server does not answer';
    } finally {
      this.sending = false;
    }
  }

  private async look(): Promise<void> {
    if (this.sending || document.activeElement === this.slider) return;
    const { sent } = this;
    try {
      const answer = (await (await fetch('/rate')).json()) as Rate;
      if (sent !== this.sent) return;
      const place = rates.findIndex((rate) => rate === answer.rate);
      if (place >= 0) this.slider.value = String(place);
      this.told(answer);
    } catch {
      this.text.textContent = 'the demo server does not answer';
    }
  }

  private told({ rate, failure }: Rate): void {
    if (failure === null) this.describe(rate, false);
    else this.text.textContent = `pgbench does not run: ${failure}`;
  }

  private describe(rate: number | 'full', isChanging: boolean): void {
    const text = rate === 0 ? 'stopped' : rate === 'full' ? 'as fast as it can' : `${rate} transactions a second`;
    this.text.textContent = isChanging ? `${text} …` : text;
    this.slider.setAttribute('aria-valuetext', text);
  }
}
