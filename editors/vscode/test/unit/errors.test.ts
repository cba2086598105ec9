import { expect, test } from 'vitest';
import { ConnectionError, ConnectionErrors, ErrorCodes, ResponseError } from 'vscode-jsonrpc';

import { errorKind, errorText, isCancelled, isLost, NotConnected } from '../../src/errors';
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

test.each([
  ['was not answered', new ResponseError(ErrorCodes.PendingResponseRejected, 'x')],
  ['could not be written', new ResponseError(ErrorCodes.MessageWriteError, 'write EPIPE')],
  ['had no connection any more', new ConnectionError(ConnectionErrors.Closed, 'x')],
])('a request that %s because the server ended is lost, and says so in words of its own', (_, error) => {
  expect(isLost(error)).toBe(true);
  expect(errorText(error)).toBe('The server ended before it answered.');
  expect(isLost(new NotConnected('x'))).toBe(true);
  expect(isLost(new ResponseError(ErrorCodes.InternalError, 'x'))).toBe(false);
});
