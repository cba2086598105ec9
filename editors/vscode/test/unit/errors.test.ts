import { expect, test } from 'vitest';
import { ResponseError } from 'vscode-jsonrpc';

import { errorKind, errorText, isCancelled } from '../../src/errors';
import { errorCodes, type ErrorObject } from '../../src/protocol.gen';
import { example, exampleNames } from './samples';
import { CancellationError } from './vscode';

test.each(exampleNames('error.'))('%s is known by its kind and code', (name) => {
  const golden = example(name) as ErrorObject;
  const error = new ResponseError(golden.code, golden.message, golden.data);
  expect(errorKind(error)).toBe(golden.data?.kind);
  expect(Object.entries(errorCodes)).toContainEqual([golden.data?.kind, golden.code]);
  expect(errorText(error)).toBe(golden.message);
  expect(isCancelled(error)).toBe(golden.data?.kind === 'Cancelled');
});

test('what is not a refusal has no kind', () => {
  expect(errorKind(new Error('x'))).toBeUndefined();
  expect(errorKind(new ResponseError(-32603, 'x'))).toBeUndefined();
  expect(isCancelled(new CancellationError())).toBe(true);
});
