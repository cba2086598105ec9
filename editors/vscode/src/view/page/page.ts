/** The page as a whole: header, gauge, panels, conversation, prompt box. Each message of the extension goes to its part. */
import type { HostMessage, HostMessageOf, PageMessage, PageMessageOf } from '../messages';
import { biggestOf } from './biggest';
import { Conversation } from './conversation';
import { button, h, setText } from './dom';
import { Gauge } from './gauge';
import { HistoryView } from './historyView';
import { icon, type IconName } from './icons';
import type { Kept } from './kept';
import { PromptBox } from './promptBox';
import { SearchView } from './searchView';
import { Writing } from './writing';

export interface PageHost {
  send(message: PageMessage): void;
  keep(state: Kept): void;
  readonly kept: Kept | undefined;
}

/** The messages about prompts and their answers. */
type Chatting = 'prompting' | 'turn' | 'live' | 'said' | 'called' | 'unsent';

/** Characters of a finished answer that a screen reader reads out. */
const SPOKEN = 600;
/** Milliseconds after which relative times are updated. */
const TICK = 30_000;
/** Milliseconds for which an information stays. Warnings and errors stay until dismissed. */
const NEWS = 8_000;
/** Milliseconds after the last change when the open rows and the rows in view are kept. */
const KEEP_PAUSE = 300;

export class Page {
  readonly #host: PageHost;
  readonly #title = h('h1.title');
  readonly #model = h('span.model');
  readonly #polite = h('div.announcer', { 'aria-live': 'polite', role: 'status' });
  readonly #urgent = h('div.announcer', { 'aria-live': 'assertive', role: 'alert' });
  readonly #notice = h('div.notice', { hidden: true });
  readonly #gauge: Gauge;
  readonly #writing: Writing;
  readonly #history: HistoryView;
  readonly #search: SearchView;
  readonly #conversation: Conversation;
  readonly #prompt: PromptBox;
  readonly #session: HTMLElement;
  readonly #welcome: HTMLElement;
  readonly #toggles = new Map<HTMLElement, HTMLButtonElement>();
  #sessionId: string | null = null;
  #running = false;
  #keepTimer: ReturnType<typeof setTimeout> | undefined;
  /** The edit that the notice is about. */
  #noticeEdit: string | null = null;
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(root: HTMLElement, host: PageHost) {
    this.#host = host;
    const send = (message: PageMessage): void => host.send(message);
    const reveal = (id: string): void => this.#conversation.reveal(id);
    const announce = (words: string): void => setText(this.#polite, words);
    const undo = (editId: string): void => send({ type: 'undo', editId });
    this.#conversation = new Conversation({ send, announce, search: () => this.#openSearch(), changed: () => this.#keepSoon() });
    this.#gauge = new Gauge({
      biggest: (part) => biggestOf(part, this.#conversation.transcript.items),
      reveal,
      setWindow: () => send({ type: 'command', name: 'setWindow' }),
    });
    this.#writing = new Writing(() => send({ type: 'cancel' }));
    this.#history = new HistoryView({ reveal, undo });
    this.#search = new SearchView({ search: (query) => send({ type: 'search', query }), reveal, announce });
    this.#prompt = new PromptBox({
      ask: (text) => this.#ask(text),
      stop: () => send({ type: 'stop' }),
      withdraw: (id) => send({ type: 'withdraw', id }),
      changed: () => this.#keepSoon(),
    });
    this.#welcome = this.#drawWelcome();
    this.#session = this.#drawSession();
    root.replaceChildren(this.#welcome, this.#session, this.#polite, this.#urgent);
    setInterval(() => this.#gauge.tick(), TICK);
  }

  receive(message: HostMessage): void {
    switch (message.type) {
      case 'session':
        this.#showSession(message);
        return;
      case 'entries':
        this.#conversation.addEntries(message);
        return;
      case 'detail':
        this.#conversation.addDetail(message);
        return;
      case 'usage':
        setText(this.#model, message.usage.model);
        this.#model.title = message.usage.model;
        this.#conversation.setUsage(message.usage);
        this.#gauge.show(message.usage);
        return;
      case 'history':
        this.#history.show(message.edits);
        if (message.edits.some(({ id, reverted }) => reverted && id === this.#noticeEdit)) this.#notice.hidden = true;
        return;
      case 'pinned':
        this.#conversation.setPinned(message.ids);
        return;
      case 'hits':
        this.#search.show(message);
        return;
      default:
        this.#tell(message);
        return;
    }
  }

  #tell(message: HostMessageOf<'compacting' | 'chunk' | 'compacted' | 'notice' | Chatting>): void {
    switch (message.type) {
      case 'prompting':
        this.#prompt.enable(message.remedy);
        return;
      case 'turn':
        this.#showTurn(message);
        return;
      case 'live':
        this.#conversation.showLive(message);
        return;
      case 'said':
        this.#conversation.say(message);
        return;
      case 'called':
        this.#conversation.call(message);
        return;
      case 'unsent':
        this.#prompt.giveBack(message.text);
        return;
      default:
        this.#report(message);
        return;
    }
  }

  #report(message: HostMessageOf<'compacting' | 'chunk' | 'compacted' | 'notice'>): void {
    switch (message.type) {
      case 'compacting':
        this.#writing.begin(message);
        setText(this.#polite, 'Compacting the context');
        return;
      case 'chunk':
        this.#writing.add(message.text);
        return;
      case 'compacted':
        this.#writing.end();
        if (message.status === 'cancelled') setText(this.#polite, 'Compaction cancelled');
        return;
      case 'notice':
        this.#showNotice(message);
        return;
    }
  }

  #ask(text: string): void {
    this.#notice.hidden = true;
    this.#conversation.follow();
    this.#host.send({ type: 'prompt', text });
  }

  #showTurn(message: HostMessageOf<'turn'>): void {
    this.#prompt.show(message);
    if (message.running === this.#running) return;
    this.#running = message.running;
    const words = this.#conversation.answer;
    setText(this.#polite, message.running ? 'The model answers' : words === '' ? 'The answer has ended' : `The model said: ${words.slice(0, SPOKEN)}`);
  }

  #showSession(message: HostMessageOf<'session'>): void {
    const same = message.sessionId !== null && message.sessionId === this.#sessionId;
    this.#sessionId = message.sessionId;
    this.#welcome.hidden = message.sessionId !== null;
    this.#session.hidden = message.sessionId === null;
    setText(this.#title, message.title || 'Untitled session');
    this.#title.title = message.title;
    if (same) {
      this.#conversation.reopen(message.generation, message.total, message.reveal);
      return;
    }
    const kept = this.#host.kept;
    this.#search.clear();
    this.#writing.end();
    this.#notice.hidden = true;
    this.#gauge.show(undefined);
    this.#running = false;
    this.#prompt.restore(kept?.sessionId === message.sessionId && kept.prompt ? kept.prompt : { draft: '', history: this.#prompt.kept.history });
    this.#conversation.open(message.generation, message.total, kept?.sessionId === message.sessionId ? kept.place : undefined);
  }

  #showNotice({ severity, text, editId }: HostMessageOf<'notice'>): void {
    setText(severity === 'error' ? this.#urgent : this.#polite, text);
    const close = button('.quiet', { title: 'Dismiss', 'aria-label': 'Dismiss' }, () => (this.#notice.hidden = true), icon('close'));
    this.#notice.replaceChildren(h('span', {}, text), close);
    this.#notice.dataset['severity'] = severity;
    this.#notice.hidden = false;
    this.#noticeEdit = editId;
    clearTimeout(this.#noticeTimer);
    if (severity === 'info') this.#noticeTimer = setTimeout(() => (this.#notice.hidden = true), NEWS);
  }

  #drawSession(): HTMLElement {
    const tools = h(
      'div.tools',
      { role: 'toolbar', 'aria-label': 'Context' },
      this.#command('compact', 'compact', 'Compact now'),
      this.#command('preview', 'preview', 'Preview compaction'),
      this.#toggle(this.#history.element, 'history', 'History'),
      this.#toggle(this.#search.element, 'search', 'Search (/)'),
    );
    const header = h('header', {}, h('div.heading', {}, h('div.names', {}, this.#title, this.#model), tools), this.#gauge.element);
    return h(
      'main.session',
      { hidden: true },
      header,
      this.#history.element,
      this.#search.element,
      this.#notice,
      this.#writing.element,
      this.#conversation.element,
      this.#prompt.element,
    );
  }

  #drawWelcome(): HTMLElement {
    const act = (name: PageMessageOf<'command'>['name'], words: string): HTMLElement => button('.wide', {}, () => this.#host.send({ type: 'command', name }), words);
    return h(
      'section.welcome',
      { hidden: true },
      h('p', {}, 'See how full a model’s context is, compact it, and take it back if you don’t like it.'),
      act('import', 'Import a Conversation…'),
      act('new', 'New Session'),
      act('switch', 'Switch Session…'),
    );
  }

  #command(name: PageMessageOf<'command'>['name'], image: IconName, words: string): HTMLElement {
    return button('.quiet', { title: words, 'aria-label': words }, () => this.#host.send({ type: 'command', name }), icon(image));
  }

  #toggle(panel: HTMLElement, image: IconName, words: string): HTMLElement {
    const element = button('.quiet', { title: words, 'aria-label': words, 'aria-expanded': 'false' }, () => this.#setOpen(panel, panel.hidden !== false), icon(image));
    this.#toggles.set(panel, element);
    panel.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      this.#setOpen(panel, false);
      element.focus();
    });
    return element;
  }

  #setOpen(panel: HTMLElement, open: boolean): void {
    for (const [each, toggle] of this.#toggles) {
      each.hidden = !(open && each === panel);
      toggle.setAttribute('aria-expanded', String(!each.hidden));
    }
    if (open && panel === this.#search.element) this.#search.focus();
  }

  #openSearch(): void {
    this.#setOpen(this.#search.element, true);
  }

  #keepSoon(): void {
    clearTimeout(this.#keepTimer);
    this.#keepTimer = setTimeout(() => {
      if (this.#sessionId !== null) this.#host.keep({ sessionId: this.#sessionId, place: this.#conversation.place, prompt: this.#prompt.kept });
    }, KEEP_PAUSE);
  }
}
