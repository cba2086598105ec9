/** The display language: the texts that `t` returns, and how figures are written. */
import { config } from '@vscode/l10n';

/** Translations by English text. */
export type Texts = Readonly<Record<string, string>>;

const ENGLISH = 'en';
let tag = ENGLISH;

/** Returns the language of all texts and figures, as `Intl` takes it. */
export function language(): string {
  return tag;
}

/** Sets the language, before any text is made. Without translations all is in English, figures too. */
export function speak(name: string, texts: Texts | undefined): void {
  tag = texts === undefined ? ENGLISH : name;
  config({ contents: { ...texts } });
}

/** The id of the element with the texts in the view's page, as JSON; empty in English. */
export const TEXTS = 'texts';
