/**
 * Offers the tests' language models, and lets a test outside of VS Code send requests through Ullage's own client. A line {id, method, params} on a local
 * socket is answered with {id, sentAt, result | error}. `sentAt` is when the request left, in Unix milliseconds.
 */
const fs = require('node:fs');
const net = require('node:net');
const readline = require('node:readline');
const vscode = require('vscode');

const { offerModels } = require('./models.js');

/** Calls a language model tool as a model does, and returns its text. */
async function invokeTool({ name, input }) {
  const { content } = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
  return content.map(({ value }) => value).join('');
}

/** Returns the text of VS Code's default keybindings, those of extensions among them. */
async function defaultKeys() {
  return (await vscode.workspace.openTextDocument(vscode.Uri.parse('vscode://defaultsettings/keybindings.json'))).getText();
}

/** What this extension itself answers, by method. */
const OWN = { 'test/invokeTool': invokeTool, 'test/defaultKeys': defaultKeys };

exports.activate = async (context) => {
  context.subscriptions.push(offerModels());
  const { request } = await vscode.extensions.getExtension('ullage.ullage').activate();
  const file = process.env.ULLAGE_DRIVER_SOCKET;
  fs.rmSync(file, { force: true });
  const server = net.createServer((socket) => {
    readline.createInterface({ input: socket }).on('line', async (line) => {
      const { id, method, params } = JSON.parse(line);
      const sentAt = performance.timeOrigin + performance.now();
      const answer = await (OWN[method]?.(params) ?? request({ name: method }, params)).then((result) => ({ result }), (error) => ({ error: String(error) }));
      socket.write(`${JSON.stringify({ id, sentAt, ...answer })}\n`);
    });
  });
  server.listen(file);
  context.subscriptions.push({ dispose: () => server.close() });
};
