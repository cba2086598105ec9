/** All commands. They are loaded with the first one that is run. */
export * as agents from './agents';
export * as archive from './archive';
export * as compaction from './compaction';
export * as continuing from './continuing';
export * as messages from './messages';
export * as models from './models';
export * as server from './server';
export * as sessions from './sessions';
export * as transfer from './transfer';
export * as wiring from './wiring';
export { guarded } from './guard';
