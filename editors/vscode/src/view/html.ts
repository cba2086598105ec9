/** The page's HTML: an empty document that loads our script and style. Its policy allows nothing else. Pure. */

export interface PageParts {
  readonly script: string;
  readonly style: string;
  /** The source of the webview's own files, as the policy names it. */
  readonly source: string;
  readonly nonce: string;
  readonly language: string;
}

export function pageHtml({ script, style, source, nonce, language }: PageParts): string {
  const policy = `default-src 'none'; style-src ${source}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="${escapeAttribute(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeAttribute(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Context</title>
<link rel="stylesheet" href="${escapeAttribute(style)}">
</head>
<body>
<script nonce="${nonce}" src="${escapeAttribute(script)}"></script>
</body>
</html>
`;
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
