/** What stands around the conversation: the toolbar, history and search, the notice, the server's state, and the summary that is being written. */
import * as l10n from '@vscode/l10n';

import { compactWord, full, messages, numberOf, short, speaker, triggerWord } from '../../words';
import type { CommandName, EditLine, Hit, HostMessageOf, Usage } from '../messages';
import { age, button, h, icon, type IconName, replace, setAttribute, setText } from './dom';
import { markdown } from './markdown';
import { editWord } from './words';

export interface HistoryActions {
  /** Brings a compaction's marker, which has the undo button, into view. */
  reveal(markerId: string): void;
  undo(editId: string): void;
}

export class HistoryView {
  readonly element = h('section.panel.history', { hidden: true, 'aria-label': l10n.t('History of compactions') });
  readonly #actions: HistoryActions;
  #edits: readonly EditLine[] = [];
  /** The edit whose undo waits for the user's confirmation. */
  #asking: string | undefined;

  constructor(actions: HistoryActions) {
    this.#actions = actions;
  }

  show(edits: readonly EditLine[]): void {
    this.#edits = edits;
    this.#asking = undefined;
    this.#draw();
  }

  #draw(): void {
    const lines = this.#edits.toReversed().map((edit) => this.#line(edit));
    const body = lines.length > 0 ? h('ul', {}, ...lines) : h('p.empty-words', {}, l10n.t('Nothing was compacted or cleared yet.'));
    replace(this.element, h('h2', {}, l10n.t('History')), body);
  }

  #line(edit: EditLine): HTMLElement {
    const saved = edit.tokensSaved > 0 ? ` · ${l10n.t('saved {0}', short(edit.tokensSaved))}` : '';
    return h(
      `li.edit${edit.reverted ? '.reverted' : ''}`,
      {},
      h('div.edit-words', {}, h('span.edit-kind', {}, editWord(edit)), h('span.note', {}, age(edit.timestamp), ` · ${triggerWord(edit.trigger)}${saved}`)),
      ...(edit.reverted ? [h('span.badge', {}, l10n.t('undone'))] : this.#buttons(edit)),
    );
  }

  #buttons(edit: EditLine): HTMLElement[] {
    if (edit.kind === 'compaction') {
      return [button('.action', {}, () => this.#actions.reveal(`${edit.id}-marker`), icon('marker'), l10n.t('Show'))];
    }
    if (this.#asking !== edit.id) return [button('.action', {}, () => this.#ask(edit.id), icon('undo'), l10n.t('Undo…'))];
    const words = l10n.t('Bring {0} back', short(Math.max(0, edit.tokensSaved)));
    return [button('.action.primary.confirm-undo', {}, () => this.#actions.undo(edit.id), icon('undo'), words)];
  }

  #ask(id: string): void {
    this.#asking = id;
    this.#draw();
    this.element.querySelector<HTMLElement>('.confirm-undo')?.focus();
  }
}

/** Milliseconds: long enough to type a word, short enough to seem immediate. */
const TYPING_PAUSE = 200;

export interface SearchActions {
  search(query: string): void;
  reveal(messageId: string): void;
  announce(words: string): void;
}

export class SearchView {
  readonly element: HTMLElement;
  readonly #actions: SearchActions;
  readonly #input = h('input.search-input', { type: 'search', placeholder: l10n.t('Search this conversation, archived messages too'), 'aria-label': l10n.t('Search this conversation'), spellcheck: 'false' });
  readonly #hits = h('div.hits');
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(actions: SearchActions) {
    this.#actions = actions;
    this.element = h('section.panel.search', { hidden: true, 'aria-label': l10n.t('Search') }, this.#input, this.#hits);
    this.#input.addEventListener('input', () => this.#typed());
  }

  focus(): void {
    this.#input.focus();
    this.#input.select();
  }

  clear(): void {
    this.#input.value = '';
    replace(this.#hits);
  }

  show(message: HostMessageOf<'hits'>): void {
    if (message.query !== this.#input.value.trim()) return;
    const words = message.error || countWords(message);
    replace(this.#hits, h('p.empty-words', {}, words), message.hits.length > 0 && h('ul', {}, ...message.hits.map((hit) => this.#line(hit))));
    this.#actions.announce(words);
  }

  #typed(): void {
    clearTimeout(this.#timer);
    const query = this.#input.value.trim();
    if (query === '') replace(this.#hits);
    else this.#timer = setTimeout(() => this.#actions.search(query), TYPING_PAUSE);
  }

  #line(hit: Hit): HTMLElement {
    const act = (): void => this.#actions.reveal(hit.messageId);
    return h('li', {}, button('.hit', {}, act, h('span.place', {}, `${numberOf(hit.index)} ${speaker(hit.role)}`), h('span.snippet', {}, ...markHits(hit.snippet))));
  }
}

/** Returns how many messages were found, and what the server notes of them. More may match than are listed. */
function countWords({ hits, full, note }: HostMessageOf<'hits'>): string {
  if (hits.length === 0) return `${l10n.t('Nothing found.')} ${note}`.trim();
  const found = full ? l10n.t('The best {0} are listed.', hits.length) : l10n.t('{0} found.', hits.length);
  return `${found} ${note}`.trim();
}

/** Marks the matches, which the server puts in `**`. */
export function markHits(snippet: string): (HTMLElement | string)[] {
  return snippet.split('**').map((text, i) => (i % 2 === 1 ? h('mark', {}, text) : text));
}

export interface Panel {
  readonly element: HTMLElement;
  /** Focuses the panel when it is opened. */
  focus?(): void;
}

export class Toolbar {
  readonly element = h('div.tools', { role: 'toolbar', 'aria-label': l10n.t('Context') });
  readonly #compact: HTMLElement;
  readonly #preview: HTMLElement;
  readonly #toggles = new Map<Panel, HTMLElement>();

  constructor(run: (command: CommandName) => void, history: Panel, search: Panel) {
    this.#compact = iconButton('compact', l10n.t('Compact now'), () => run('compact'));
    this.#preview = iconButton('preview', l10n.t('Preview compaction'), () => run('preview'));
    this.element.append(this.#compact, this.#preview, this.#toggle(history, 'history', l10n.t('History')), this.#toggle(search, 'search', l10n.t('Search (/)')));
  }

  show(usage: Usage): void {
    entitle(this.#compact, compactWord(usage));
    // An agent's compaction cannot be previewed.
    this.#preview.hidden = usage.followed;
  }

  open(panel: Panel): void {
    this.#setOpen(panel, true);
  }

  /** Returns a button that opens and closes a panel. Escape closes it, too. */
  #toggle(panel: Panel, image: IconName, words: string): HTMLElement {
    const element = iconButton(image, words, () => this.#setOpen(panel, panel.element.hidden !== false));
    setAttribute(element, 'aria-expanded', false);
    this.#toggles.set(panel, element);
    panel.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      this.#setOpen(panel, false);
      element.focus();
    });
    return element;
  }

  #setOpen(panel: Panel, open: boolean): void {
    for (const [each, toggle] of this.#toggles) {
      each.element.hidden = !(open && each === panel);
      setAttribute(toggle, 'aria-expanded', !each.element.hidden);
    }
    if (open) panel.focus?.();
  }
}

function iconButton(image: IconName, words: string, act: () => void): HTMLElement {
  const element = button('.quiet', {}, act, icon(image));
  entitle(element, words);
  return element;
}

/** Gives a button that shows only an icon its words. */
function entitle(element: HTMLElement, words: string): void {
  element.title = words;
  setAttribute(element, 'aria-label', words);
}

/** Milliseconds for which an information stays. Warnings and errors stay until dismissed. */
const NEWS = 8_000;

export class NoticeLine {
  readonly element = h('div.notice', { hidden: true });
  /** The edit that the notice is about. */
  #editId: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  show({ severity, text, editId }: HostMessageOf<'notice'>): void {
    const close = button('.quiet', { title: l10n.t('Dismiss'), 'aria-label': l10n.t('Dismiss') }, () => this.hide(), icon('close'));
    this.element.replaceChildren(h('span', {}, text), close);
    this.element.dataset['severity'] = severity;
    this.element.hidden = false;
    this.#editId = editId;
    clearTimeout(this.#timer);
    if (severity === 'info') this.#timer = setTimeout(() => this.hide(), NEWS);
  }

  hide(): void {
    this.element.hidden = true;
  }

  /** Hides a notice about an edit that was undone. */
  takeHistory(edits: readonly EditLine[]): void {
    if (edits.some(({ id, reverted }) => reverted && id === this.#editId)) this.hide();
  }
}

export class ServerBanner {
  readonly element = h('div.server', { hidden: true, role: 'status' });
  readonly #run: (name: CommandName) => void;

  constructor(run: (name: CommandName) => void) {
    this.#run = run;
  }

  /** Shows the state. The style of the whole page depends on it, so that old figures look old. */
  show({ state, text, actions }: HostMessageOf<'server'>): void {
    document.body.dataset['server'] = state;
    this.element.dataset['state'] = state;
    this.element.hidden = text === '';
    const first = state === 'down' ? '.action.primary' : '.action';
    const buttons = actions.map((name, at) => commandButton(at === 0 ? first : '.action', name, this.#run));
    replace(this.element, h('p', {}, text), h('div.actions', {}, ...buttons));
  }
}

const WORDS: Readonly<Record<CommandName, string>> = {
  compact: l10n.t('Compact now'),
  preview: l10n.t('Preview'),
  setWindow: l10n.t('Set the model’s window'),
  setUp: l10n.t('Set it up for me'),
  restart: l10n.t('Restart the server'),
  problem: l10n.t('Other ways…'),
  log: l10n.t('Show log'),
};

export function commandButton(spec: '' | `.${string}`, name: CommandName, run: (name: CommandName) => void): HTMLButtonElement {
  return button(spec, {}, () => run(name), WORDS[name]);
}

export class Writing {
  readonly element: HTMLElement;
  readonly #title = h('span.marker-title');
  readonly #written = h('span.figures');
  readonly #text = h('div.prose.writing-text', { tabindex: 0, role: 'region', 'aria-label': l10n.t('The summary so far') });
  #summary = '';
  #frame = 0;

  constructor(cancel: () => void) {
    const head = h('div.marker-head', {}, h('span.spinner'), h('div.marker-line', {}, this.#title, this.#written), button('.action.cancel', {}, cancel, icon('close'), l10n.t('Cancel')));
    this.element = h('div.writing', { hidden: true }, head, this.#text);
  }

  get running(): boolean {
    return !this.element.hidden;
  }

  begin(run: HostMessageOf<'compacting'>): void {
    this.element.hidden = false;
    this.#summary = run.summary;
    setText(this.#title, l10n.t('Compacting {0} ({1})…', messages(run.messages), short(run.before)));
    this.#draw();
  }

  add(text: string): void {
    this.#summary += text;
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  end(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.element.hidden = true;
    this.#summary = '';
    replace(this.#text);
  }

  /** Draws the summary again, because it can be drawn as Markdown now. */
  redraw(): void {
    if (this.running) this.#draw();
  }

  #draw(): void {
    this.#frame = 0;
    setText(this.#written, this.#summary === '' ? '' : l10n.t('{0} characters written', full(this.#summary.length)));
    replace(this.#text, markdown()?.renderMarkdown(this.#summary) ?? this.#summary);
    this.#text.scrollTop = this.#text.scrollHeight;
  }
}
