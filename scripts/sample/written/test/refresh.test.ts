import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { SetClock } from "../src/clock.ts";
import { RefreshRefused, RefreshTokens } from "../src/refresh.ts";
import { Store } from "../src/store.ts";

const DAYS = 24 * 3600;

let clock: SetClock;
let store: Store;
let refresh: RefreshTokens;

beforeEach(() => {
  clock = new SetClock();
  store = new Store(":memory:");
  store.addUser({ id: "u1", name: "Ines", passwordHash: "-" });
  store.startSession({ id: "s1", userId: "u1", device: "laptop", startedAt: clock.now(), endedAt: null });
  refresh = new RefreshTokens(store, clock, 30 * DAYS);
});

test("each use answers a successor", () => {
  const first = refresh.issue("s1", "laptop");
  const second = refresh.rotate(first, "laptop");
  assert.equal(second.session, "s1");
  assert.notEqual(second.token, first);
});

test("a token is good for 30 days and not a second longer", () => {
  const token = refresh.issue("s1", "laptop");
  clock.advance(30 * DAYS - 1);
  const next = refresh.rotate(token, "laptop").token;
  clock.advance(30 * DAYS);
  assert.throws(() => refresh.rotate(next, "laptop"), { reason: "expired" });
});

test("a token is bound to its device", () => {
  const token = refresh.issue("s1", "laptop");
  assert.throws(() => refresh.rotate(token, "phone"), { reason: "device" });
});

test("a used token is refused", () => {
  const token = refresh.issue("s1", "laptop");
  refresh.rotate(token, "laptop");
  assert.throws(() => refresh.rotate(token, "laptop"), { reason: "used" });
});

test("an invented token is refused", () => {
  assert.throws(() => refresh.rotate("invented", "laptop"), RefreshRefused);
});
