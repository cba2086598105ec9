/** The page as a whole: header, gauge, panels, conversation. Each message of the extension goes to its part. */
import * as l10n from '@vscode/l10n';

import type { CommandName, HostMessage, HostMessageOf, PageMessage } from '../messages';
import { Conversation, type Kept } from './conversation';
import { h, setText, TICK, tickAges } from './dom';
import { biggestOf, Gauge } from './gauge';
import { onCopy, onMarkdown } from './markdown';
import { HistoryView, NoticeLine, SearchView, ServerBanner, Toolbar, Writing } from './panels';
import { readOnlyWords } from './words';

export interface PageHost {
  send(message: PageMessage): void;
  keep(state: Kept): void;
  readonly kept: Kept | undefined;
}

/** Milliseconds after the last change when the open rows and the rows in view are kept. */
const KEEP_PAUSE = 300;

export class Page {
  readonly #host: PageHost;
  readonly #title = h('h1.title');
  readonly #model = h('span.model');
  readonly #polite = h('div.announcer', { 'aria-live': 'polite', role: 'status' });
  readonly #urgent = h('div.announcer', { 'aria-live': 'assertive', role: 'alert' });
  readonly #notice = new NoticeLine();
  readonly #readOnly = h('p.read-only', { hidden: true });
  readonly #gauge: Gauge;
  readonly #writing: Writing;
  readonly #history: HistoryView;
  readonly #search: SearchView;
  readonly #conversation: Conversation;
  readonly #server: ServerBanner;
  readonly #session: HTMLElement;
  readonly #toolbar: Toolbar;
  readonly #ages: ReturnType<typeof setInterval>;
  readonly #unlisten: () => void;
  #sessionId: string | null = null;
  #keepTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(root: HTMLElement, host: PageHost) {
    this.#host = host;
    const send = (message: PageMessage): void => host.send(message);
    const reveal = (id: string): void => this.#conversation.reveal(id);
    const announce = (words: string): void => setText(this.#polite, words);
    const undo = (editId: string): void => send({ type: 'undo', editId });
    this.#conversation = new Conversation({ send, announce, search: () => this.#toolbar.open(this.#search), changed: () => this.#keepSoon() });
    this.#gauge = new Gauge({
      biggest: (part) => biggestOf(part, this.#conversation.transcript.items),
      reveal,
      setWindow: () => send({ type: 'command', name: 'setWindow' }),
    });
    this.#writing = new Writing(() => send({ type: 'cancel' }));
    this.#history = new HistoryView({ reveal, undo });
    this.#search = new SearchView({ search: (query) => send({ type: 'search', query }), reveal, announce });
    const run = (name: CommandName): void => send({ type: 'command', name });
    this.#toolbar = new Toolbar(run, this.#history, this.#search);
    this.#server = new ServerBanner(run);
    this.#session = this.#drawSession();
    this.#unlisten = onMarkdown(() => {
      this.#conversation.redraw();
      this.#writing.redraw();
    });
    onCopy((text) => send({ type: 'copy', text }));
    root.replaceChildren(this.#server.element, this.#session, this.#polite, this.#urgent);
    this.#ages = setInterval(() => tickAges(Date.now()), TICK);
  }

  /** Ends what the page does by itself. A webview that is closed ends it, too. */
  dispose(): void {
    clearInterval(this.#ages);
    this.#unlisten();
  }

  /** Focuses the conversation. */
  focus(): void {
    this.#conversation.focus();
  }

  receive(message: HostMessage): void {
    switch (message.type) {
      case 'session':
        this.#showSession(message);
        return;
      case 'entries':
        this.#conversation.addEntries(message);
        return;
      case 'server':
        this.#showServer(message);
        return;
      case 'unread':
        this.#conversation.showUnread(message);
        return;
      case 'detail':
        this.#conversation.addDetail(message);
        return;
      case 'lost':
        this.#conversation.addLost(message);
        return;
      case 'usage':
        this.#session.classList.toggle('followed', message.usage.followed);
        this.#readOnly.hidden = !message.usage.followed;
        setText(this.#readOnly, readOnlyWords(message.usage));
        setText(this.#model, message.usage.model);
        this.#model.title = message.usage.model;
        this.#conversation.setUsage(message.usage);
        this.#gauge.show(message.usage);
        this.#toolbar.show(message.usage);
        return;
      case 'history':
        this.#history.show(message.edits);
        this.#notice.takeHistory(message.edits);
        return;
      case 'pinned':
        this.#conversation.setPinned(message.ids);
        return;
      case 'hits':
        this.#search.show(message);
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
        setText(this.#polite, l10n.t('Compacting the context'));
        return;
      case 'chunk':
        this.#writing.add(message.text);
        return;
      case 'compacted':
        this.#writing.end();
        if (message.status === 'cancelled') setText(this.#polite, l10n.t('Compaction cancelled'));
        return;
      case 'notice':
        this.#showNotice(message);
        return;
    }
  }

  #showServer(message: HostMessageOf<'server'>): void {
    this.#server.show(message);
  }

  #showSession(message: HostMessageOf<'session'>): void {
    const same = message.sessionId !== null && message.sessionId === this.#sessionId;
    this.#sessionId = message.sessionId;
    this.#session.hidden = message.sessionId === null;
    setText(this.#title, message.title || l10n.t('Untitled conversation'));
    this.#title.title = message.title;
    if (!same && document.hasFocus() && document.activeElement === document.body) queueMicrotask(() => this.focus());
    if (same) {
      this.#conversation.reopen(message.generation, message.total, message.reveal);
      return;
    }
    const kept = this.#host.kept;
    this.#search.clear();
    this.#writing.end();
    this.#notice.hide();
    this.#gauge.show(undefined);
    this.#conversation.open(message.generation, message.total, kept?.sessionId === message.sessionId ? kept.place : undefined);
  }

  #showNotice(message: HostMessageOf<'notice'>): void {
    setText(message.severity === 'error' ? this.#urgent : this.#polite, message.text);
    this.#notice.show(message);
  }

  #drawSession(): HTMLElement {
    const header = h('header', {}, h('div.heading', {}, h('div.names', {}, this.#title, this.#model), this.#toolbar.element), this.#gauge.element);
    return h(
      'main.session',
      { hidden: true },
      header,
      this.#history.element,
      this.#search.element,
      this.#notice.element,
      this.#writing.element,
      this.#conversation.element,
      this.#readOnly,
    );
  }

  #keepSoon(): void {
    clearTimeout(this.#keepTimer);
    this.#keepTimer = setTimeout(() => {
      if (this.#sessionId !== null) this.#host.keep({ sessionId: this.#sessionId, place: this.#conversation.place });
    }, KEEP_PAUSE);
  }
}
