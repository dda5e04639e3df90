// Answers that are asked for again and again. However many tabs a person has open, one of them asks, at most two
// questions a second, and tells the others:
//   1. A tab says which paths it shows and how old each may get ("want"), once a change and every few seconds.
//   2. The leader holds a lease in localStorage and renews it. A tab that finds it run out writes itself in, and
//      acts one turn later if its name is still there, so that two do not lead at once.
//   3. Each turn (half a second) the leader asks the most overdue path and broadcasts the answer.
// A hidden tab wants nothing and does not lead. What a person has just opened is asked at once.
// While the broker or its database is away only its health is asked, less and less often; then everything goes on.
import { ApiError, getPath, kHealthPath, token } from './api';

const kTurnMs = 500;
const kLeaseMs = 3_000;
const kAnnounceMs = 4_000;
const kForgetMs = 15_000;
// What is shown fresher than this is asked at once when something was changed.
const kFreshMs = 5_000;
// Answers that are kept for a page that is opened again.
const kKept = 400;

export interface Answer {
  data?: unknown;
  error?: { status: number; message: string; code: string };
  at: number;
}

interface Watch {
  everyMs: number;
  listeners: Set<(answer: Answer) => void>;
}

type Note =
  | { kind: 'want'; tab: string; wants: [path: string, everyMs: number][] }
  | { kind: 'answer'; path: string; answer: Answer };

function fingerprint(text: string): string {
  let hash = 2166136261;
  for (const char of text) hash = Math.imul(hash ^ char.charCodeAt(0), 16777619);
  return (hash >>> 0).toString(36);
}

class Poller {
  private readonly tab = Math.random().toString(36).slice(2);
  private readonly watches = new Map<string, Watch>();
  private readonly answers = new Map<string, Answer>();
  private readonly askedAt = new Map<string, number>();
  private readonly others = new Map<string, { wants: [string, number][]; heardAt: number }>();
  private channel: BroadcastChannel | null = null;
  private place = '';
  private announcedAt = 0;
  private failures = 0;
  private restUntil = 0;
  private asking = false;
  /** As the last answer about its health says. */
  private away = false;

  constructor() {
    this.open();
    setInterval(() => this.turn(), kTurnMs);
    document.addEventListener('visibilitychange', () => this.announce());
    addEventListener('pagehide', () => this.leave());
  }

  /** Another person, other answers: tabs share only with those that show the same token. */
  open(): void {
    this.channel?.close();
    this.place = `queen-poll-${fingerprint(token.get())}`;
    this.answers.clear();
    this.others.clear();
    this.away = false;
    this.restUntil = 0;
    this.channel = new BroadcastChannel(this.place);
    this.channel.onmessage = (event: MessageEvent<Note>) => this.hear(event.data);
    this.announce();
  }

  /** `calm`: nobody has just opened this; it waits for its turn, so that all tabs together ask it once. */
  watch(path: string, everyMs: number, listener: (answer: Answer) => void, calm = false): () => void {
    let watch = this.watches.get(path);
    if (!watch) {
      watch = { everyMs, listeners: new Set() };
      this.watches.set(path, watch);
    }
    watch.everyMs = Math.min(watch.everyMs, everyMs);
    watch.listeners.add(listener);
    const known = this.answers.get(path);
    if (known) listener(known);
    if (!calm && (!known || Date.now() - known.at > everyMs)) void this.askNow(path);
    this.announce();
    return () => {
      watch.listeners.delete(listener);
      if (watch.listeners.size === 0) this.watches.delete(path);
      this.announce();
    };
  }

  /** Asks for everything this tab shows, because something was changed. */
  refresh(): void {
    for (const [path, watch] of this.watches) {
      // What may be old anyway waits for its turn.
      if (watch.everyMs > kFreshMs) this.askedAt.delete(path);
      else void this.askNow(path);
    }
  }

  private async askNow(path: string): Promise<void> {
    this.askedAt.set(path, Date.now());
    const answer: Answer = { at: Date.now() };
    try {
      answer.data = await getPath(path);
      this.failures = 0;
    } catch (problem) {
      const error = problem instanceof ApiError ? problem : new ApiError(0, String(problem));
      answer.error = { status: error.status, message: error.message, code: error.code };
      // A broker that is away is asked less and less often, down to every five seconds.
      if (error.status === 0 || error.status >= 500) {
        this.failures = Math.min(this.failures + 1, 10);
        this.restUntil = Date.now() + this.failures * kTurnMs;
      }
    }
    // By now: an answer that took long is as old as its end.
    answer.at = Date.now();
    this.take(path, answer);
    this.channel?.postMessage({ kind: 'answer', path, answer } satisfies Note);
    if (answer.error?.status === 0 && path !== kHealthPath) this.askHealth();
  }

  /** Nobody answered a question: is it the broker? */
  private askHealth(): void {
    if (Date.now() - (this.askedAt.get(kHealthPath) ?? 0) > 1_000) void this.askNow(kHealthPath);
  }

  private take(path: string, answer: Answer): void {
    if (path === kHealthPath) this.away = answer.error !== undefined;
    const before = this.answers.get(path);
    // The last good answer stays on the page while the broker is away.
    const shown = answer.error && before?.data !== undefined ? { ...answer, data: before.data } : answer;
    this.answers.delete(path);
    this.answers.set(path, shown);
    this.askedAt.set(path, answer.at);
    for (const listener of this.watches.get(path)?.listeners ?? []) listener(shown);
    if (this.answers.size > kKept) this.answers.delete(this.answers.keys().next().value as string);
  }

  private hear(note: Note): void {
    if (note.kind === 'answer') this.take(note.path, note.answer);
    else if (note.wants.length === 0) this.others.delete(note.tab);
    else this.others.set(note.tab, { wants: note.wants, heardAt: Date.now() });
  }

  private wants(): [string, number][] {
    if (document.hidden) return [];
    return [...this.watches].map(([path, watch]) => [path, watch.everyMs]);
  }

  private announce(): void {
    this.announcedAt = Date.now();
    this.channel?.postMessage({ kind: 'want', tab: this.tab, wants: this.wants() } satisfies Note);
  }

  private leave(): void {
    this.channel?.postMessage({ kind: 'want', tab: this.tab, wants: [] } satisfies Note);
    if (this.leads()) localStorage.removeItem(this.place);
  }

  private leads(): boolean {
    return (localStorage.getItem(this.place) ?? '').startsWith(`${this.tab} `);
  }

  private turn(): void {
    const now = Date.now();
    if (now - this.announcedAt > kAnnounceMs) this.announce();
    const [, until = '0'] = (localStorage.getItem(this.place) ?? '').split(' ');
    const mine = this.leads();
    if (document.hidden) {
      if (mine) localStorage.removeItem(this.place);
      return;
    }
    if (!mine && Number(until) > now && Number(until) < now + 2 * kLeaseMs) return;
    localStorage.setItem(this.place, `${this.tab} ${now + kLeaseMs}`);
    if (mine && !this.asking && now >= this.restUntil) void this.askMostOverdue(now);
  }

  private async askMostOverdue(now: number): Promise<void> {
    const all = new Map<string, number>(this.wants());
    for (const [tab, other] of this.others) {
      if (now - other.heardAt > kForgetMs) this.others.delete(tab);
      else for (const [path, everyMs] of other.wants) all.set(path, Math.min(everyMs, all.get(path) ?? Infinity));
    }
    let chosen = '';
    let most = 0;
    for (const [path, everyMs] of all) {
      if (this.away && path !== kHealthPath) continue;
      const overdue = now - (this.askedAt.get(path) ?? 0) - everyMs;
      if (overdue >= most) [chosen, most] = [path, overdue];
    }
    if (!chosen) return;
    this.asking = true;
    await this.askNow(chosen);
    this.asking = false;
  }
}

export const poller = new Poller();
