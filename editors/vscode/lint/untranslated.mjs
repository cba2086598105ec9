/**
 * Texts that users read and no translation reaches: a literal that is not given to `t`. It looks at what a literal says
 * (words with spaces, a capital, an ellipsis) and at where it goes (a title, a message, a child of an element), because
 * one word may be either a name or a text.
 */

/** Properties and attributes that are shown. */
const SHOWN = new Set(['label', 'title', 'detail', 'description', 'placeHolder', 'placeholder', 'prompt', 'tooltip', 'message', 'invocationMessage', 'openLabel', 'text', 'textContent', 'aria-label', 'aria-valuetext', 'contentText']);
/** Functions whose arguments are shown, with the place of the first one that is. */
const SHOWING = new Map(Object.entries({
  showErrorMessage: 0, showInformationMessage: 0, showWarningMessage: 0, setStatusBarMessage: 0, withProgress: 0, announce: 0, report: 0,
  markdown: 0, progress: 0, setText: 1, h: 2, button: 3, iconButton: 1, replace: 1, append: 0, createTextNode: 0, Error: 0, NotConnected: 0,
  NoSession: 0, NoPython: 0,
}));
/** Functions whose arguments are selectors, and attributes that hold names. */
const SELECTING = new Set(['closest', 'matches', 'querySelector', 'querySelectorAll']);
const NAMING = new Set(['aria-describedby', 'class', 'id', 'role']);
/** A name: of a setting, a file, a model, a command, or the product's own. Icons are no text either. */
const NAME = /^(?:[a-z0-9]+(?:[-./_][A-Za-z0-9]+)+|Ullage)$/;
const ICON = /\$\([\w~-]+\)/g;
/** Writes to the log, which is in English. */
const LOGGING = new Set(['info', 'warn', 'error', 'debug', 'trace']);
const LETTER = /\p{L}/u;
const PROSE = /\p{L}{2,}[.,:;!?…’']*\s+\p{L}|^\p{Lu}\p{Ll}+\b(?![/:_-]|\.\w)|\p{Ll}(?:…|\. )|\s\p{Ll}{2,}/u;
const WORD = /^[ ,(:·]*\p{Ll}[\p{Ll} ’']*[ …:,.)]*$/u;

const rule = {
  meta: { type: 'problem', schema: [], messages: { untranslated: 'A text for users must be given to t(), so that it can be translated.' } },
  create(context) {
    const check = (node, whole) => {
      const text = whole.replace(ICON, '').trim();
      if (LETTER.test(text) && !NAME.test(text) && !isExempt(node) && (PROSE.test(text) || isShown(node) || (WORD.test(text) && isWordOf(node)))) context.report({ node, messageId: 'untranslated' });
    };
    return {
      Literal: (node) => { if (typeof node.value === 'string') check(node, node.value); },
      TemplateLiteral: (node) => check(node, node.quasis.map(({ value }) => value.cooked ?? '').join('\u0001')),
    };
  },
};
export default rule;

/** Whether a literal is no text: a name, a type, a part of a comparison, what goes to the log, or an argument of `t`. */
function isExempt(node) {
  const { parent } = node;
  switch (parent.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'TSLiteralType':
    case 'TaggedTemplateExpression':
      return true;
    case 'Property':
    case 'PropertyDefinition':
    case 'MemberExpression':
      if (parent.key === node || parent.property === node || (parent.key && NAMING.has(keyOf(parent)))) return true;
      break;
    case 'BinaryExpression':
      return parent.operator !== '+';
    case 'SwitchCase':
      return true;
  }
  return ancestors(node).some((each) => each.type === 'CallExpression' && isQuiet(each, node));
}

function isQuiet(call, node) {
  const name = nameOf(call);
  if (name === 't') return call.arguments.includes(node) || ancestors(node).some((each) => each.type === 'Property' && ['comment', 'message'].includes(keyOf(each)));
  if (SELECTING.has(name)) return call.arguments.includes(node);
  const object = call.callee.type === 'MemberExpression' ? nameOf({ callee: call.callee.object }) : '';
  return (LOGGING.has(name) && /log$/i.test(object)) || (name === 'join' && object === 'path');
}

/** Whether a literal, or what it is chosen for, is shown. */
function isShown(node) {
  const [value, parent] = carried(node);
  if (parent.type === 'Property') return parent.value === value && SHOWN.has(keyOf(parent));
  if (parent.type === 'AssignmentExpression') return parent.right === value && SHOWN.has(nameOf({ callee: parent.left }));
  if (parent.type !== 'CallExpression' && parent.type !== 'NewExpression') return false;
  const first = SHOWING.get(nameOf(parent));
  return first !== undefined && parent.arguments.indexOf(value) >= first;
}

/** Whether a word is the value of a table of texts, or what a function that makes a text returns. */
function isWordOf(node) {
  const [value, parent] = carried(node);
  if (parent.type === 'ReturnStatement') {
    const made = ancestors(parent).find(({ type }) => /Function/.test(type));
    return made?.returnType?.typeAnnotation.type === 'TSStringKeyword';
  }
  if (parent.type !== 'Property' || parent.value !== value) return false;
  const declared = parent.parent.parent;
  const type = declared?.type === 'VariableDeclarator' ? declared.id.typeAnnotation?.typeAnnotation : undefined;
  return type !== undefined && /string>>$/.test(sourceOf(type));
}

function sourceOf(type) {
  if (type.type === 'TSTypeReference') return `${type.typeName.name}<${(type.typeArguments?.params ?? []).map(sourceOf).join()}>`;
  return type.type === 'TSStringKeyword' ? 'string' : type.type;
}

/** Returns the expression whose value a literal may be, and where that expression stands. */
function carried(node) {
  let value = node;
  while (['ConditionalExpression', 'LogicalExpression', 'TemplateLiteral', 'TSAsExpression'].includes(value.parent.type) && value.parent.test !== value) value = value.parent;
  return [value, value.parent];
}

function ancestors(node) {
  return node.parent ? [node.parent, ...ancestors(node.parent)] : [];
}

function nameOf({ callee }) {
  if (callee.type === 'MemberExpression') return callee.property.name ?? '';
  return callee.name ?? '';
}

function keyOf({ key }) {
  return key.name ?? key.value;
}
