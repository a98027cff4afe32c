// Where sets and their cursors outlive the page. The core knows only this; indexed_db.ts implements it.

import type { Shown } from './channels.js';
import type { StoredView, Subscription, ViewName } from './subscriptions.js';

/** Belongs to one principal. Nothing here may throw; a storage that fails has nothing stored. */
export interface Store {
  readonly principal: string;
  /** Never rejects. */
  load(view: ViewName): Promise<StoredView | undefined>;
  /** All that one commit changed, with the cursors that belong to it: stored together or not at all, in the order of the calls. */
  save(shown: readonly Shown<Subscription>[]): void;
  /** Nobody may see any of it any more. */
  clear(): void;
}
