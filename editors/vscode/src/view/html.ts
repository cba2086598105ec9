/** The page's HTML: an empty document that loads our script and style, with the texts in the display language. Its policy allows nothing else. Pure: the tests of the page make it without VS Code. */
import * as l10n from '@vscode/l10n';

import { TEXTS, type Texts } from '../language';

export interface PageParts {
  readonly script: string;
  readonly style: string;
  /** The source of the webview's own files, as the policy names it. */
  readonly source: string;
  readonly nonce: string;
  readonly language: string;
  /** Translations, or undefined in English. */
  readonly texts: Texts | undefined;
}

export function pageHtml({ script, style, source, nonce, language, texts }: PageParts): string {
  // eslint-disable-next-line texts/untranslated -- a policy
  const policy = `default-src 'none'; style-src ${source}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  // eslint-disable-next-line texts/untranslated -- HTML, whose title is translated
  return `<!doctype html>
<html lang="${escapeAttribute(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeAttribute(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(l10n.t('Context'))}</title>
<link rel="stylesheet" href="${escapeAttribute(style)}">
</head>
<body>
<script type="application/json" id="${TEXTS}">${texts ? JSON.stringify(texts).replaceAll('<', '\\u003c') : ''}</script>
<script type="module" nonce="${nonce}" src="${escapeAttribute(script)}"></script>
</body>
</html>
`;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function escapeAttribute(text: string): string {
  return escapeText(text).replaceAll('"', '&quot;');
}
