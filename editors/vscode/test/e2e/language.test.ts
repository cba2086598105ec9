/** Ullage in another display language: commands, the status bar, settings, pickers and the Context view, and what stays in English. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { given, until } from './rig/codeServer.ts';
import { continues, Workbench } from './rig/workbench.ts';

interface Words {
  readonly language: string;
  readonly importSample: string;
  readonly tokens: RegExp;
  readonly tooltip: string;
  readonly view: string;
  readonly gauge: string;
  readonly parts: string;
  readonly part: string;
  readonly compact: string;
  readonly compacted: RegExp;
  readonly undo: string;
  readonly brings: RegExp;
  readonly searchAny: string;
  readonly scope: string;
  readonly search: string;
  readonly setting: string;
}

const GERMAN: Words = {
  language: 'de',
  importSample: 'Beispielunterhaltung importieren',
  tokens: /Kontext zu 19 Prozent voll, 38\.\d{3} von 200\.000 Token des Fensters/,
  tooltip: 'des Fensters',
  view: 'Kontext',
  gauge: '38K von 200K, kompaktiert bei',
  parts: 'Teile',
  part: 'Tool-Ergebnisse',
  compact: 'Jetzt kompaktieren',
  compacted: /Kompaktiert #1/,
  undo: 'Rückgängig…',
  brings: /^Holt \d+ Nachrichten, [\d,]+K Token zurück; der Kontext ist dann bei \d+\u00a0%\.$/,
  searchAny: 'Suchen…',
  scope: 'Diese Unterhaltung',
  search: 'Alles je in dieser Unterhaltung Gesagte durchsuchen',
  setting: 'Anteil des nutzbaren Fensters, bei dem einmal gewarnt wird.',
};
const CHINESE: Words = {
  language: 'zh-cn',
  importSample: '导入示例对话',
  tokens: /上下文已用百分之 19，窗口 200,000 个 token 中的 38,\d{3} 个/,
  tooltip: '窗口的',
  view: '上下文',
  gauge: '38K/200K，达到',
  parts: '组成部分',
  part: '工具结果',
  compact: '立即压缩',
  compacted: /已压缩 #1/,
  undo: '撤消…',
  brings: /^将恢复 \d+ 条消息，[\d.]+K 个 token；届时上下文为 \d+%。$/,
  searchAny: '搜索…',
  scope: '此对话',
  search: '搜索此对话中的全部内容',
  setting: '达到可用窗口的此比例时警告一次。',
};

for (const words of [GERMAN, CHINESE]) {
  describe(words.language, () => {
    let vscode: Workbench;

    before(async () => {
      vscode = await Workbench.open(`language-${words.language}`, { environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') }, language: words.language });
    });
    continues(() => vscode);

    test('commands have their titles, and the status bar its figure', async () => {
      await vscode.run(words.importSample);
      await vscode.reads(/38K\/200K/);
      assert.match(await vscode.statusLabel(), words.tokens);
      await vscode.hover(words.tooltip);
      await vscode.shot('hover');
    });

    test('the view speaks the language', async () => {
      await vscode.status.click();
      await vscode.context.getByText(words.gauge).first().waitFor();
      await vscode.context.getByRole('button', { name: words.parts, exact: true }).click();
      await vscode.context.getByText(words.part, { exact: true }).first().waitFor();
      await vscode.page.locator('.sidebar .pane-header', { hasText: words.view }).waitFor();
      await vscode.shot('view');
      await vscode.context.getByRole('button', { name: words.compact, exact: true }).click();
      await vscode.context.getByText(words.compacted).first().waitFor();
      const undo = vscode.context.getByRole('button', { name: words.undo, exact: true });
      // A view at the end of the conversation opens the marker itself.
      await until('the marker to be open', async () => {
        if (await undo.isVisible()) return true;
        const head = vscode.context.locator('.marker[aria-expanded=false] .marker-head');
        if (await head.isVisible()) await head.click();
        return false;
      });
      await undo.click();
      await vscode.context.getByText(words.brings).waitFor();
      await vscode.shot('compacted');
    });

    test('pickers and settings speak the language', async () => {
      await vscode.runIn(words.searchAny, words.scope);
      await vscode.quickInput.getByText(words.search).waitFor();
      await vscode.page.keyboard.press('Escape');
      await vscode.page.keyboard.press('Control+,');
      await vscode.page.locator('.settings-editor .suggest-input-container').click();
      await vscode.page.keyboard.insertText('ullage.context.warnAt');
      await vscode.page.locator('.settings-editor').getByText(words.setting).waitFor();
      await vscode.shot('settings');
    });
  });
}
