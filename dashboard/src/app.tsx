// The frame around every page: where one can go, the range of all charts, and what is wrong at the moment.
import { useEffect, useRef, useState } from 'preact/hooks';
import { onUnauthorized, token } from './api';
import { ranges, setRange, signOut, usePath, useRange, useReply } from './hooks';
import { useRights, type Rights } from './rights';
import { Dialog, Loading } from './parts/basics';
import { poller } from './poll';
import { go, href, readRoute, useRoute, type Route } from './route';
import { AuditPage } from './pages/audit';
import { BrokersPage } from './pages/brokers';
import { DeadLettersPage } from './pages/dead_letters';
import { GroupPage, GroupsPage } from './pages/groups';
import { MessagePage, MessagesPage } from './pages/messages';
import { OverviewPage } from './pages/overview';
import { PartitionPage, QueuePage } from './pages/queue';
import { QueuesPage } from './pages/queues';
import { SignInPage } from './pages/sign_in';
import { StreamPage, StreamsPage } from './pages/streams';
import { TracesPage } from './pages/traces';

// page, its name, the letter after `g`, the pages below it
const places: [page: string, title: string, letter: string, below: string[]][] = [
  ['overview', 'Overview', 'o', []],
  ['queues', 'Queues', 'q', ['queue', 'partition']],
  ['messages', 'Messages', 'm', ['message']],
  ['dead-letters', 'Dead letters', 'd', []],
  ['groups', 'Groups', 'g', ['group']],
  ['traces', 'Traces', 't', []],
  ['streams', 'Streams', 's', ['stream']],
  ['brokers', 'Brokers', 'b', []],
  ['audit', 'Audit', 'a', []],
];
const charted = new Set(['overview', 'queues', 'queue', 'brokers']);
// What a token for some queues is refused: pages about all of them.
const aboutAll = new Set(['overview', 'traces', 'streams', 'stream', 'brokers']);

function mayOpen(page: string, rights: Rights): boolean {
  return page === 'audit' ? rights.admin : !(rights.limited && aboutAll.has(page));
}

function Page(props: { route: Route }) {
  const { page, names } = props.route;
  const [first = '', second = ''] = names;
  switch (page) {
    case 'overview': return <OverviewPage />;
    case 'queues': return <QueuesPage />;
    case 'queue': return <QueuePage key={first} queue={first} />;
    case 'partition': return <PartitionPage key={names.join('\n')} queue={first} partition={second} />;
    case 'messages': return <MessagesPage />;
    case 'message': return <MessagePage key={names.join('\n')} partitionId={first} transactionId={second} />;
    case 'dead-letters': return <DeadLettersPage />;
    case 'groups': return <GroupsPage />;
    case 'group': return <GroupPage key={names.join('\n')} group={first} queue={second} />;
    case 'traces': return <TracesPage key={first} name={first || undefined} />;
    case 'streams': return <StreamsPage />;
    case 'stream': return <StreamPage key={first} query={first} />;
    case 'brokers': return <BrokersPage />;
    case 'audit': return <AuditPage />;
    default: return <><h1>There is no such page</h1><p><a href={href('overview')}>Go to the overview</a></p></>;
  }
}

function NotForThisToken(props: { limited: boolean }) {
  return (
    <>
      <h1>Not for this token</h1>
      <p>{props.limited ? 'This page is about all queues, and your token is for some of them.' : 'This page is for administrators.'} <a href={href('queues')}>Go to your queues</a></p>
    </>
  );
}

type Theme = 'auto' | 'light' | 'dark';

function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(() => (localStorage.getItem('queen-theme') as Theme | null) ?? 'auto');
  useEffect(() => {
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem('queen-theme', theme);
    const told = () => dispatchEvent(new Event('queen-theme'));
    told();
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', told);
    return () => system.removeEventListener('change', told);
  }, [theme]);
  return [theme, () => setTheme(theme === 'auto' ? 'light' : theme === 'light' ? 'dark' : 'auto')];
}

function RangePicker() {
  const range = useRange();
  const fixed = !(range.name in ranges);
  return (
    <div class="ranges" role="group" aria-label="Time range of all charts">
      {Object.keys(ranges).map((name) => (
        <button key={name} type="button" aria-pressed={name === range.name} onClick={() => setRange(name)}>{name}</button>
      ))}
      {fixed && <button type="button" aria-pressed="true" onClick={() => setRange('1h')} title="back to the last hour">chosen ✕</button>}
    </div>
  );
}

const withoutDatabase = (error: { code: string }): boolean => error.code === 'database_unavailable';

function healthWord(error: { status: number; code: string }): string {
  if (withoutDatabase(error)) return 'PostgreSQL cannot be reached.';
  return error.status === 0 ? 'The broker does not answer.' : 'The broker is not well.';
}

function healthAdvice(error: { status: number; message: string; code: string }): string {
  if (withoutDatabase(error)) return 'Pushes are kept in the broker’s file buffer until it is back; pops wait.';
  return error.status === 0 ? '' : error.message;
}

/** What needs attention on every page. */
function Banners() {
  const health = useReply('health', {}, 3_000);
  const { admin, limited, known } = useRights();
  const maintenance = useReply('getMaintenance', admin ? {} : null, 10_000);
  const status = usePath<{ security?: { openToNetwork?: boolean } }>(known && !limited ? '/api/v1/status?interval=1h' : null, 60_000);
  const anonymous = status.data?.security?.openToNetwork === true;
  return (
    <div class="banners" aria-live="polite">
      {health.error && <div class="banner bad" role="alert"><strong>{healthWord(health.error)}</strong> {healthAdvice(health.error)} The page shows what was last known and goes on by itself.</div>}
      {anonymous && <div class="banner warn">Anybody on the network may do everything here: the broker listens beyond this machine without asking for a token.</div>}
      {maintenance.data?.maintenanceMode && <div class="banner warn">Pushes are paused. <a href={href('brokers')}>Maintenance</a></div>}
      {maintenance.data?.popMaintenanceMode && <div class="banner warn">Pops are paused. <a href={href('brokers')}>Maintenance</a></div>}
    </div>
  );
}

function Keys(props: { onClose: () => void }) {
  const rights = useRights();
  return (
    <Dialog title="Keys" onClose={props.onClose}>
      <dl class="facts">
        <div><dt><kbd>/</kbd></dt><dd>Search or filter</dd></div>
        {places.filter(([page]) => mayOpen(page, rights)).map(([page, title, letter]) => <div key={page}><dt><kbd>g</kbd> <kbd>{letter}</kbd></dt><dd>{title}</dd></div>)}
        <div><dt><kbd>?</kbd></dt><dd>These keys</dd></div>
      </dl>
    </Dialog>
  );
}

/** The page's own filter, else the search for queues, as soon as that page stands there. */
function focusFilter(): void {
  const focused = () => {
    const filter = document.querySelector<HTMLInputElement>('[data-filter]');
    filter?.focus();
    return filter !== null;
  };
  if (focused()) return;
  const coming = new MutationObserver(() => { if (focused() || readRoute().page !== 'queues') coming.disconnect(); });
  coming.observe(document.body, { childList: true, subtree: true });
  go('queues');
}

function useKeys(showKeys: () => void): void {
  const before = useRef(0);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) {
        if (event.key === 'Escape') target.blur();
        return;
      }
      const afterG = Date.now() - before.current < 1_500;
      before.current = 0;
      const place = places.find(([, , letter]) => letter === event.key);
      if (afterG && place) go(place[0]);
      else if (event.key === 'g') before.current = Date.now();
      else if (event.key === '/') focusFilter();
      else if (event.key === '?') showKeys();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

export function App() {
  const route = useRoute();
  const [closed, setClosed] = useState(false);
  const [menu, setMenu] = useState(false);
  const [keys, setKeys] = useState(false);
  const [theme, nextTheme] = useTheme();
  const rights = useRights();
  const place = places.find(([page, , , below]) => page === route.page || below.includes(route.page));
  useEffect(() => onUnauthorized(() => setClosed(true)), []);
  const where = `${route.page}/${route.names.join('/')}`;
  useEffect(() => {
    document.title = [...route.names.slice(-1), place?.[1] ?? '', 'Queen'].filter(Boolean).join(' · ');
    setMenu(false);
    scrollTo(0, 0);
  }, [where]);
  useKeys(() => setKeys(true));
  const elsewhere = route.page === 'overview' && rights.limited;
  useEffect(() => { if (elsewhere) location.replace(href('queues')); }, [elsewhere]);
  if (closed) {
    return <SignInPage onSignedIn={() => { poller.open(); setClosed(false); }} />;
  }
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>Skip to the page</a>
      <header class="top">
        <button type="button" class="menu-button" aria-expanded={menu} aria-controls="menu" onClick={() => setMenu(!menu)}>Menu</button>
        <a class="brand" href={href('overview')}>♛ Queen</a>
        {charted.has(route.page) ? <RangePicker /> : <span class="ranges" />}
        <span class="top-buttons">
          <button type="button" class="small" onClick={() => setKeys(true)} aria-label="Keys">?</button>
          <button type="button" class="small" onClick={nextTheme} aria-label={`Colours: ${theme}`}>{theme === 'auto' ? '◐' : theme === 'light' ? '☀' : '☾'}</button>
          {token.get() && <button type="button" class="small" onClick={signOut} title={rights.subject ? `${rights.subject}, ${rights.role}` : rights.role}>Sign out</button>}
        </span>
      </header>
      <nav id="menu" class={`side ${menu ? 'open' : ''}`} aria-label="Pages">
        {places.filter(([page]) => mayOpen(page, rights)).map(([page, title]) => (
          <a key={page} href={href(page)} aria-current={page === place?.[0] ? 'page' : undefined}>{title}</a>
        ))}
      </nav>
      <main id="main" tabIndex={-1} data-shows={route.hash}>
        <Banners />
        {!rights.asked ? <Loading what="the page" /> : mayOpen(route.page, rights) || !rights.known ? <Page route={route} /> : <NotForThisToken limited={rights.limited} />}
      </main>
      {keys && <Keys onClose={() => setKeys(false)} />}
    </>
  );
}
