// What the browser tests share: a broker with a PostgreSQL of its own, a headless Chromium, steps that are told one by
// one, and waiting on conditions. Nothing here looks at a clock but to give up.
import { spawn } from 'node:child_process';
import { mkdtempSync, chmodSync, readFileSync, rmSync, openSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const fromDashboard = createRequire(join(root, 'dashboard/package.json'));
const { chromium } = fromDashboard('playwright-core');
export const axeSource = readFileSync(fromDashboard.resolve('axe-core/axe.min.js'), 'utf8');

// A loaded machine may take this long for anything.
export const waitMs = Number(process.env.WAIT_MS ?? 120_000);

const begun = Date.now();
const closers = [];

export function say(text) {
  console.log(`${((Date.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${text}`);
}

export function check(condition, text) {
  if (!condition) throw new Error(`expected: ${text}`);
}

/** Returns what `probe` gives as soon as it is neither false nor an error; an error that is `final` ends it. */
export async function until(probe, what) {
  const end = Date.now() + waitMs;
  let last = '';
  for (;;) {
    try {
      const value = await probe();
      if (value) return value;
      last = 'it is not so';
    } catch (problem) {
      if (problem.final) throw problem;
      last = problem.message;
    }
    if (Date.now() > end) throw new Error(`waited ${waitMs / 1000} s for ${what}: ${last}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Below the ports that the system gives to those who connect: while a broker is away, nobody else gets its port. */
async function freePort() {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000);
    const free = await new Promise((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

export class Broker {
  constructor(env = {}) {
    this.directory = mkdtempSync(join('/tmp', 'queen-dashboard-test.'));
    chmodSync(this.directory, 0o755);
    this.log = join(this.directory, 'broker.log');
    this.env = { PATH: process.env.PATH, HOME: process.env.HOME ?? '/root', METRICS_FLUSH_INTERVAL: '1000', ...env };
  }

  async start() {
    this.port ??= await freePort();
    this.url = `http://127.0.0.1:${this.port}`;
    const program = process.env.QUEEN_BINARY ?? join(root, 'build/queen');
    const output = openSync(this.log, 'a');
    this.process = spawn(program, ['serve', '--host', '127.0.0.1', '--port', String(this.port), '--data-dir', join(this.directory, 'data')],
      { env: this.env, cwd: this.directory, stdio: ['ignore', output, output] });
    this.ended = new Promise((resolve) => { this.process.once('exit', resolve); });
    await until(async () => {
      if (this.process.exitCode !== null) throw Object.assign(new Error('the broker ended'), { final: true });
      return (await fetch(`${this.url}/readyz`)).ok;
    }, 'the broker to be ready');
    return this;
  }

  async kill(signal = 'SIGKILL') {
    this.process.kill(signal);
    await this.ended;
  }

  async close() {
    if (this.process?.exitCode === null && this.process.signalCode === null) await this.kill('SIGTERM');
    const pidFile = join(this.directory, 'data/postgres/postmaster.pid');
    if (existsSync(pidFile)) {
      // A killed broker leaves its server behind; the lock file names it.
      const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
      try { process.kill(pid, 'SIGQUIT'); } catch { /* it has ended */ }
      await until(() => !existsSync(`/proc/${pid}`), 'PostgreSQL to end');
    }
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** One request; the reply's JSON. A status of 4xx or 5xx fails, unless it is the one expected. */
  async ask(method, path, body, expected) {
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    const reply = await fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await reply.text();
    if (expected ? reply.status !== expected : !reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  get(path, expected) { return this.ask('GET', path, undefined, expected); }
  post(path, body, expected) { return this.ask('POST', path, body, expected); }
}

/** Where a broker that runs a PostgreSQL of its own has its socket. */
export const databaseSocket = (broker) => join(broker.directory, 'data/run/.s.PGSQL.5432');

/** Stands between a broker and PostgreSQL. While it is shut, the database is away. */
export class Gate {
  constructor(socket) {
    this.socket = socket;
    this.ends = new Set();
  }

  async open() {
    this.port ??= await freePort();
    this.server = createServer((near) => {
      const far = connect(this.socket);
      for (const [one, other] of [[near, far], [far, near]]) {
        this.ends.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => { this.ends.delete(one); other.destroy(); });
        one.pipe(other);
      }
    });
    await new Promise((resolve) => { this.server.listen(this.port, '127.0.0.1', resolve); });
    this.server.unref();
  }

  shut() {
    this.server.close();
    for (const end of this.ends) end.destroy();
  }
}

/** A started broker that is closed at the end. `token` is what the test itself asks it with. */
export async function startBroker(env, token) {
  const broker = new Broker(env);
  broker.token = token;
  closers.push(async (failed) => {
    if (failed && existsSync(broker.log)) console.log(`---- log of the broker\n${readFileSync(broker.log, 'utf8').slice(-5000)}`);
    await broker.close();
  });
  await broker.start();
  say(`broker at ${broker.url}`);
  return broker;
}

const executable = () => process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync) ?? 'chromium';

export async function startBrowser() {
  const options = {
    executablePath: executable(),
    headless: true,
    timeout: waitMs,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
    env: { ...process.env, HOME: tmpdir() },
  };
  let browser;
  for (let attempt = 1; !browser; ++attempt) {
    try {
      browser = await chromium.launch(options);
    } catch (problem) {
      // Chromium's own words are in the error.
      console.log(`starting ${options.executablePath} failed (attempt ${attempt} of 3): ${problem.message}`);
      if (attempt === 3) throw problem;
    }
  }
  closers.push(() => browser.close());
  say(`Chromium ${browser.version()}`);
  return browser;
}

/** A page whose errors fail the test: scripts that throw, and what the Content-Security-Policy refuses. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(waitMs);
  context.setDefaultNavigationTimeout(waitMs);
  const page = await context.newPage();
  page.problems = [];
  page.foreign = [];
  watch(page);
  return page;
}

export function watch(page) {
  page.problems ??= [];
  page.foreign ??= [];
  page.on('pageerror', (error) => page.problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content.Security.Policy/i.test(message.text())) page.problems.push(message.text());
  });
  page.on('request', (request) => {
    if (!/^http:\/\/127\.0\.0\.1:/.test(request.url()) && !/^(data|blob):/.test(request.url())) page.foreign.push(request.url());
  });
  return page;
}

export function checkPage(page) {
  check(page.problems.length === 0, `no error on the page, but there was ${page.problems[0]}`);
  check(page.foreign.length === 0, `no request to anywhere else, but there was ${page.foreign[0]}`);
}

/** Violations of the rules for people with disabilities, of everything on the page. */
export async function checkAccess(page, where) {
  // By the protocol of the browser, so that the page's own policy stays in force.
  await page.evaluate(axeSource);
  const found = await page.evaluate(async () => {
    const result = await globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] });
    return result.violations.map((one) => `${one.id}: ${one.help}\n      ${one.nodes.slice(0, 3).map((node) => `${node.html} ${node.any.map((any) => any.message).join(' ')}`).join('\n      ')}`);
  });
  check(found.length === 0, `no violation on ${where}, but there is\n    ${found.join('\n    ')}`);
}

/** Waits until a function that runs in the page is true there. It asks by a timer: a busy machine paints late or not at all. */
export async function holds(page, probe, value) {
  await page.waitForFunction(probe, value, { timeout: waitMs, polling: 100 });
}

/**
 * Shows a page of the dashboard and waits until it stands there, not only its address: the page before it may have the
 * same heading. A broker that asks for a token shows the sign-in instead.
 */
export async function show(page, broker, hash, heading) {
  const here = await page.evaluate(() => location.href);
  if (here.startsWith(broker.url)) await page.evaluate((to) => { location.hash = to; }, `#/${hash}`);
  else await page.goto(`${broker.url}/#/${hash}`);
  await holds(page, () => document.querySelector('.sign-in') || document.querySelector('main')?.dataset.shows === location.hash);
  await page.locator('h1', { hasText: heading }).waitFor();
}

/** Waits for the page with exactly this heading. Those below it begin with the same words: "Groups / billing". */
export async function headed(page, heading) {
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
}

/** Waits until the address has this text. The page is asked: what the driver calls the address comes later. */
export async function addressHas(page, text) {
  await holds(page, (wanted) => location.href.includes(wanted), text);
}

/** Waits until the text of the page (or of a part) has all of these. */
export async function shows(page, texts, part = 'main') {
  for (const text of [texts].flat()) {
    await holds(page, ([where, wanted]) => document.querySelector(where)?.textContent?.includes(wanted), [part, text]).catch(async () => {
      const now = await page.evaluate((where) => document.querySelector(where)?.textContent ?? '(nothing)', part);
      throw new Error(`"${text}" does not come; ${part} says: ${now.slice(0, 1500)}`);
    });
  }
}

/** Two keys, one after the other, as often as it takes: the page forgets the first when the second comes late. */
export async function pressBoth(page, first, second, probe) {
  await until(async () => {
    await page.keyboard.press(first);
    await page.keyboard.press(second);
    return page.evaluate(probe);
  }, `the effect of ${first} ${second}`);
}

async function closeAll(failed) {
  while (closers.length > 0) await closers.pop()(failed).catch((problem) => console.log(`closing: ${problem.message}`));
}

/** Runs the steps in order; the process ends with 1 if one fails. Whoever ends it early is told what was going on. */
export async function run(steps) {
  let failed = false;
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      say(`ended by ${signal}`);
      void closeAll(true).then(() => process.exit(1));
    });
  }
  try {
    for (const [name, step] of steps) {
      say(name);
      await step();
    }
    say('all passed');
  } catch (problem) {
    failed = true;
    console.log(problem.stack);
  }
  await closeAll(failed);
  process.exit(failed ? 1 : 0);
}
