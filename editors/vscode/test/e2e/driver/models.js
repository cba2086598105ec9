/**
 * Language models for the tests, offered as an extension offers any: `echo` answers word by word with what it heard,
 * `summarizer` writes a summary, `refusing` is out of quota. A VS Code without that API offers none.
 */
const vscode = require('vscode');

const NAMES = ['echo', 'summarizer', 'refusing'];
const LIMIT = 40_000;
/** Milliseconds between two words. */
const PACE = 15;

exports.offerModels = () => {
  if (typeof vscode.lm?.registerLanguageModelChatProvider !== 'function') return { dispose: () => undefined };
  const offered = vscode.lm.registerLanguageModelChatProvider('ullage-tests', {
    provideLanguageModelChatInformation: () => NAMES.map((id) => ({
      id, name: `Test ${id}`, family: id, version: '1', maxInputTokens: LIMIT, maxOutputTokens: 4_000, capabilities: { toolCalling: true },
    })),
    provideLanguageModelChatResponse: async ({ id }, messages, _options, progress, token) => {
      if (id === 'refusing') throw vscode.LanguageModelError.Blocked('the quota of this month is used up');
      for (const word of answer(id, messages).split(/(?<=\s)/)) {
        if (token.isCancellationRequested) return;
        progress.report(new vscode.LanguageModelTextPart(word));
        await new Promise((resolve) => setTimeout(resolve, PACE));
      }
    },
    provideTokenCount: (_model, text) => Math.ceil((typeof text === 'string' ? text : textOf(text)).length / 4),
  });
  // VS Code's chat shows a vendor's models, and takes questions, once an extension has asked for them.
  void vscode.lm.selectChatModels({ vendor: 'ullage-tests' });
  return offered;
};

function answer(id, messages) {
  const heard = textOf(messages.at(-1)).trim().split('\n').at(-1);
  return id === 'summarizer' ? SUMMARY : `You said **${heard}**, after ${messages.length - 1} earlier messages.`;
}

function textOf({ content }) {
  return content.map((part) => part.value ?? '').join('');
}

const SUMMARY = `## Task
- Mend the deadlock in the release of the lock.
## State of work
- A model of VS Code wrote this summary.
## Next step
- Run the tests again.
`;
