/** Texts of Ullage as documents of VS Code: messages, changes of files that are not made yet, and the preview of a compaction, which the user can edit. */
import * as path from 'node:path';

import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import type { CompactResult, Entry, FileDifference } from './protocol.gen';
import { entryName, full, inPercent, messages, messageStart, oneLine, short, shrinking } from './words';

const DIFFERENCE = 'ullage-difference';
const MESSAGE = 'ullage-message';

/** A file before and after, as documents. */
interface Sides {
  readonly file: vscode.Uri;
  readonly before: vscode.Uri;
  readonly after: vscode.Uri;
}

export class Differences implements vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registration: vscode.Disposable;
  #shown = 0;

  constructor() {
    this.#registration = vscode.workspace.registerTextDocumentContentProvider(DIFFERENCE, {
      provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? '',
    });
  }

  /** Shows the changes of files, all in one editor, and returns a function that closes it. A file that is not there is empty. */
  async show(name: string, files: readonly FileDifference[]): Promise<() => Promise<void>> {
    const sides = files.map((file) => this.#sidesOf(file));
    const [first, ...others] = sides;
    const title = `${name}: ${files.map((file) => path.basename(file.path)).join(', ')}`;
    if (first && others.length === 0) await vscode.commands.executeCommand('vscode.diff', first.before, first.after, `${title} (${first.file.fsPath})`, { preview: false });
    else if (first) await vscode.commands.executeCommand('vscode.changes', title, sides.map(({ file, before, after }) => [file, before, after]));
    return async () => {
      await vscode.window.tabGroups.close(tabsOf(title));
      for (const { before, after } of sides) for (const uri of [before, after]) this.#texts.delete(uri.toString());
    };
  }

  dispose(): void {
    this.#registration.dispose();
  }

  #sidesOf(file: FileDifference): Sides {
    this.#shown += 1;
    // Both sides have the file's own path: editors show it, and take its language from it.
    const own = vscode.Uri.file(file.path);
    const uriOf = (side: string): vscode.Uri => own.with({ scheme: DIFFERENCE, query: `${this.#shown}-${side}` });
    const sides = { file: own, before: uriOf('before'), after: uriOf('after') };
    this.#texts.set(sides.before.toString(), file.before ?? '');
    this.#texts.set(sides.after.toString(), file.after ?? '');
    return sides;
  }
}

/** Returns the tabs with this title. An editor of several files adds their number to it. */
function tabsOf(title: string): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(({ label }) => label === title || label.startsWith(`${title} (`));
}

/** Messages as documents, which replace no other and are never saved. */
export class MessageDocuments implements vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registrations: vscode.Disposable;

  constructor() {
    this.#registrations = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(MESSAGE, {
        provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? '',
      }),
      vscode.workspace.onDidCloseTextDocument((document) => { this.#texts.delete(document.uri.toString()); }),
    );
  }

  /** Opens a text under a name. The document replaces no other and is never saved. */
  async show(id: string, name: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: MESSAGE, path: `/${id}/${name}.md` });
    this.#texts.set(uri.toString(), text);
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  dispose(): void {
    this.#registrations.dispose();
  }
}

export const PREVIEW_SCHEME = 'ullage-preview';
/** A language of its own, so that the user's Markdown settings stay as they are: in it `#111` is a message, not a colour. */
const LANGUAGE = 'ullage-preview';

interface OpenPreview {
  readonly uri: vscode.Uri;
  readonly sessionId: string;
  readonly result: CompactResult;
  /** The document as it was opened. */
  readonly text: string;
}

/** The user's decision. `summary` is set if the user changed the summary. */
export interface Decision {
  readonly sessionId: string;
  readonly previewId: string;
  readonly summary?: string;
}

export class Preview implements vscode.Disposable {
  readonly #files = new MemoryFiles();
  readonly #lensesChanged = new vscode.EventEmitter<void>();
  readonly #added = diffDecoration('+', 'inserted');
  readonly #removed = diffDecoration('', 'removed');
  readonly #disposables: vscode.Disposable;
  #open: OpenPreview | undefined;

  constructor() {
    const lenses: vscode.CodeLensProvider = {
      onDidChangeCodeLenses: this.#lensesChanged.event,
      provideCodeLenses: (document) => this.#lenses(document),
    };
    this.#disposables = vscode.Disposable.from(
      this.#lensesChanged,
      this.#files,
      this.#added,
      this.#removed,
      vscode.workspace.registerFileSystemProvider(PREVIEW_SCHEME, this.#files, { isCaseSensitive: true }),
      vscode.languages.registerCodeLensProvider({ scheme: PREVIEW_SCHEME }, lenses),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme !== PREVIEW_SCHEME) return;
        this.#lensesChanged.fire();
        this.#decorate();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => { this.#decorate(); }),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => { this.#forgetClosed(closed); }),
    );
    // After a window is reloaded, the text and the server of an open preview are gone.
    void vscode.window.tabGroups.close(tabs((uri) => uri.scheme === PREVIEW_SCHEME));
  }

  /** Shows a preview and replaces the previous one. */
  async show(sessionId: string, content: PreviewContent): Promise<void> {
    await this.close();
    const { result } = content;
    const name = shrinking(result.contextSizeBefore, result.contextSizeAfter);
    const text = previewDocument(content);
    const uri = vscode.Uri.from({ scheme: PREVIEW_SCHEME, path: `/${oneLine(content.title, 30).replace(/[/\\]/g, ' ') || l10n.t('Compaction')}: ${name}`, query: result.previewId ?? '' });
    this.#files.put(uri, text);
    this.#setOpen({ uri, sessionId, result, text });
    await reveal(uri);
    this.#decorate();
  }

  /**
   * Returns what to commit, or undefined if the user goes back to the text. Throws an Error for the user if the document
   * has no readable summary.
   */
  async decision(): Promise<Decision | undefined> {
    const open = this.#open;
    if (!open?.result.previewId) throw new Error(l10n.t('No preview is open. Run Preview Compaction first.'));
    const document = await vscode.workspace.openTextDocument(open.uri);
    const summary = summaryOf(document.getText());
    if (summary === undefined) throw new Error(l10n.t('A mark around the summary is missing; undo that edit, then accept.'));
    if (outsideOf(document.getText()) !== outsideOf(open.text) && !(await loses())) return undefined;
    const { sessionId, result } = open;
    const decision = { sessionId, previewId: open.result.previewId };
    return summary === result.summary.trim() ? decision : { ...decision, summary };
  }

  /** Closes the document without a question, because nothing in it is worth saving. */
  async close(): Promise<void> {
    const open = this.#open;
    if (!open) return;
    this.#setOpen(undefined);
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === open.uri.toString());
    if (document?.isDirty) await document.save();
    await vscode.window.tabGroups.close(previewTabs(open.uri));
    this.#files.remove(open.uri);
  }

  dispose(): void {
    this.#disposables.dispose();
  }

  /** Colours added and removed lines as a diff does. */
  #decorate(): void {
    for (const editor of vscode.window.visibleTextEditors.filter(({ document }) => document.uri.scheme === PREVIEW_SCHEME)) {
      const changed = changedLines(editor.document.getText());
      editor.setDecorations(this.#added, changed ? ranges(changed.added) : []);
      editor.setDecorations(this.#removed, changed ? ranges(changed.removed) : []);
    }
  }

  #setOpen(open: OpenPreview | undefined): void {
    this.#open = open;
    void vscode.commands.executeCommand('setContext', 'ullage.hasPreview', open !== undefined);
  }

  #forgetClosed(closed: readonly vscode.Tab[]): void {
    const open = this.#open;
    const isOurs = (tab: vscode.Tab): boolean =>
      tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === open?.uri.toString();
    if (!open || !closed.some(isOurs) || previewTabs(open.uri).length > 0) return;
    this.#setOpen(undefined);
    this.#files.remove(open.uri);
  }

  #lenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const open = this.#open;
    if (open?.uri.toString() !== document.uri.toString()) return [];
    const line = previewLine(open.result, summaryOf(document.getText()));
    const places = [0, headingLine(document)].map((at) => new vscode.Range(at, 0, at, 0));
    return places.flatMap((place) => [
      new vscode.CodeLens(place, { title: line, command: '' }),
      new vscode.CodeLens(place, { title: `$(check) ${l10n.t('Accept')}`, command: 'ullage.acceptPreview' }),
      new vscode.CodeLens(place, { title: `$(discard) ${l10n.t('Discard')}`, command: 'ullage.discardPreview' }),
    ]);
  }
}

/** Asks whether to go on although what was typed outside of the summary is not kept. */
async function loses(): Promise<boolean> {
  const detail = l10n.t('Only the summary, between its two marks, takes the place of the messages. What you typed elsewhere is not kept.');
  const verb = l10n.t('Accept without it');
  return (await vscode.window.showWarningMessage(l10n.t('You typed outside of the summary.'), { modal: true, detail }, verb)) === verb;
}

/** Shows the document with the summary in view and the cursor in it. */
async function reveal(uri: vscode.Uri): Promise<void> {
  const document = await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(uri), LANGUAGE);
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  const heading = headingLine(editor.document);
  const start = new vscode.Position(heading + 4, 0);
  editor.selection = new vscode.Selection(start, start);
  editor.revealRange(new vscode.Range(0, 0, heading, 0), vscode.TextEditorRevealType.AtTop);
}

function diffDecoration(sign: string, kind: 'inserted' | 'removed'): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor(`diffEditor.${kind}LineBackground`),
    overviewRulerColor: new vscode.ThemeColor(`diffEditorOverview.${kind}Foreground`),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    ...(sign ? { before: { contentText: sign, width: '2ch', color: new vscode.ThemeColor('descriptionForeground') } } : {}),
  });
}

/** Returns one range per line, so that each line gets its sign. */
function ranges({ first, last }: Lines): vscode.Range[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => new vscode.Range(first + at, 0, first + at, 0));
}

/** Returns the line of the summary's heading, two lines before its first mark, or 0 if the mark is gone. */
function headingLine(document: vscode.TextDocument): number {
  const mark = document.getText().indexOf(SUMMARY_BEGIN);
  return mark < 0 ? 0 : Math.max(0, document.positionAt(mark).line - 2);
}

function previewTabs(uri: vscode.Uri): vscode.Tab[] {
  return tabs((other) => other.toString() === uri.toString());
}

function tabs(wanted: (uri: vscode.Uri) => boolean): vscode.Tab[] {
  const all = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return all.filter((tab) => tab.input instanceof vscode.TabInputText && wanted(tab.input.uri));
}

/** A file system of a few texts that exist as long as the window. */
class MemoryFiles implements vscode.FileSystemProvider, vscode.Disposable {
  readonly #texts = new Map<string, { readonly bytes: Uint8Array; readonly mtime: number }>();
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;

  put(uri: vscode.Uri, text: string): void {
    this.writeFile(uri, new TextEncoder().encode(text));
  }

  remove(uri: vscode.Uri): void {
    this.#texts.delete(uri.toString());
  }

  dispose(): void {
    this.#changed.dispose();
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { bytes, mtime } = this.#get(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime, size: bytes.length };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.#get(uri).bytes;
  }

  writeFile(uri: vscode.Uri, bytes: Uint8Array): void {
    this.#texts.set(uri.toString(), { bytes, mtime: Date.now() });
  }

  delete(uri: vscode.Uri): void {
    this.remove(uri);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(): void {
    throw vscode.FileSystemError.NoPermissions();
  }

  rename(): void {
    throw vscode.FileSystemError.NoPermissions();
  }

  #get(uri: vscode.Uri): { readonly bytes: Uint8Array; readonly mtime: number } {
    const text = this.#texts.get(uri.toString());
    if (!text) throw vscode.FileSystemError.FileNotFound(uri);
    return text;
  }
}

export const SUMMARY_BEGIN = `<!-- ${l10n.t('The summary: edit it down to the next mark.')} -->`;
export const SUMMARY_END = `<!-- ${l10n.t('End of the summary.')} -->`;

/** The signs before a line that stays and a line that is archived, as in a diff. */
const STAYS = '  ';
const GOES = '- ';

/** The content of a preview. `entries` are the messages of the context as it is now. */
export interface PreviewContent {
  readonly result: CompactResult;
  readonly entries: readonly Entry[];
  readonly title: string;
  /** Whose conversation the session is a copy of, or an empty string. */
  readonly copyOf: string;
}

export function previewDocument({ result, entries, title, copyOf }: PreviewContent): string {
  const gone = new Set(result.archived.map((entry) => entry.message.id));
  const stays = entries.filter((entry) => !gone.has(entry.message.id));
  const sizes = shrinking(result.contextSizeBefore, result.contextSizeAfter);
  return [
    `# ${title ? l10n.t('Compaction of {0}: {1}', title, sizes) : l10n.t('Compaction of this conversation: {0}', sizes)}`,
    l10n.t('Nothing has changed yet. Edit the summary if you like, then Accept (✓) or Discard in the title bar. What goes can be brought back with Undo.'),
    ...(copyOf ? [l10n.t('This is a copy: {0} stays as it is.', copyOf)] : []),
    `## ${l10n.t('Summary, in place of what goes')}`,
    SUMMARY_BEGIN,
    result.summary,
    SUMMARY_END,
    `## ${l10n.t('Stays: {0}, {1} tokens', messages(stays.length), full(sum(stays)))}`,
    list(STAYS, stays),
    `## ${l10n.t('Goes: {0}, {1} tokens freed', messages(result.archived.length), full(result.contextSizeBefore - result.contextSizeAfter))}`,
    list(GOES, result.archived),
    '',
  ].join('\n\n');
}

/** Returns the summary in a document as the user edited it, or undefined if a mark is gone. */
export function summaryOf(document: string): string | undefined {
  const begin = document.indexOf(SUMMARY_BEGIN);
  const end = document.lastIndexOf(SUMMARY_END);
  if (begin < 0 || end < begin + SUMMARY_BEGIN.length) return undefined;
  return document.slice(begin + SUMMARY_BEGIN.length, end).trim();
}

/** Returns what a document holds outside of the summary, to see whether the user typed there. */
export function outsideOf(document: string): string {
  const begin = document.indexOf(SUMMARY_BEGIN);
  const end = document.lastIndexOf(SUMMARY_END);
  return begin < 0 || end < begin ? document : document.slice(0, begin) + document.slice(end);
}

/** Estimates the context's size with another summary, at four characters a token. */
export function sizeWith(result: CompactResult, summary: string): number {
  return Math.max(0, result.contextSizeAfter + Math.round((summary.length - result.summary.length) / 4));
}

/** Lines of a preview, counted from 0; `last` is included. The range is empty if `last` comes before `first`. */
export interface Lines {
  readonly first: number;
  readonly last: number;
}

/** Returns the lines that a preview adds (the summary) and removes, or undefined if a mark is gone. */
export function changedLines(document: string): { readonly added: Lines; readonly removed: Lines } | undefined {
  const lines = document.split('\n');
  const [begin, end] = [lines.indexOf(SUMMARY_BEGIN), lines.lastIndexOf(SUMMARY_END)];
  if (begin < 0 || end < begin) return undefined;
  const goes = lines.findIndex((line, at) => at > end && line.startsWith(GOES));
  return { added: trim(lines, begin + 1, end - 1), removed: goes < 0 ? { first: 0, last: -1 } : trim(lines, goes, lines.length - 1) };
}

/** Removes the empty lines at both ends. */
function trim(lines: readonly string[], first: number, last: number): Lines {
  while (first <= last && !lines[first]) first += 1;
  while (first <= last && !lines[last]) last -= 1;
  return { first, last };
}

/** Returns the line over the document, which changes while the user edits. */
export function previewLine(result: CompactResult, summary: string | undefined): string {
  if (summary === undefined) return l10n.t('A mark around the summary is missing: undo that edit to accept');
  const after = sizeWith(result, summary);
  const near = summary === result.summary ? '' : '≈';
  const line = `${short(result.contextSizeBefore)} → ${near}${short(after)}`;
  if (after >= result.contextSizeBefore) return l10n.t('{0}: the summary is larger than what it replaces', line);
  return l10n.t('{0} ({1} less)', line, inPercent(result.contextSizeBefore - after, result.contextSizeBefore));
}

function list(mark: string, entries: readonly Entry[]): string {
  if (entries.length === 0) return l10n.t('Nothing.');
  return entries.map((entry) => `${mark}${line(entry)}`).join('\n');
}

function line(entry: Entry): string {
  const pinned = entry.pinned ? '📌 ' : '';
  return `${entryName(entry)} (${short(entry.tokens)}) ${pinned}${messageStart(entry.message, 60)}`;
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((tokens, entry) => tokens + entry.tokens, 0);
}
