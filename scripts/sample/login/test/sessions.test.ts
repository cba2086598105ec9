import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { SetClock } from "../src/clock.ts";
import { Passwords } from "../src/passwords.ts";
import { SessionEnded, Sessions } from "../src/sessions.ts";
import { Store } from "../src/store.ts";
import { AccessTokens, TokenError } from "../src/tokens.ts";

const SECRET = "a-secret-for-tests-that-is-long-enough";
const ACCESS_SECONDS = 900;

let clock: SetClock;
let store: Store;
let sessions: Sessions;

beforeEach(async () => {
  clock = new SetClock();
  store = new Store(":memory:");
  const passwords = new Passwords(clock, 10);
  store.addUser({ id: "u1", name: "Ines", passwordHash: await passwords.hash("correct horse") });
  const tokens = new AccessTokens(SECRET, ACCESS_SECONDS, clock);
  sessions = new Sessions(store, passwords, tokens, clock, ACCESS_SECONDS);
});

test("login answers a token that says who it is", async () => {
  const answer = await sessions.login("ines", "correct horse", "laptop");
  assert.equal(sessions.whoIs(answer.accessToken).userId, "u1");
  assert.equal(answer.expiresIn, ACCESS_SECONDS);
});

test("a wrong password is refused, and so is an unknown name", async () => {
  await assert.rejects(sessions.login("Ines", "wrong", "laptop"), { reason: "credentials" });
  await assert.rejects(sessions.login("Nobody", "wrong", "laptop"), { reason: "credentials" });
});

test("an access token ends with its time", async () => {
  const answer = await sessions.login("Ines", "correct horse", "laptop");
  clock.advance(ACCESS_SECONDS);
  assert.throws(() => sessions.whoIs(answer.accessToken), TokenError);
});

test("logout ends the session at once", async () => {
  const answer = await sessions.login("Ines", "correct horse", "laptop");
  sessions.logout(answer.accessToken);
  assert.throws(() => sessions.whoIs(answer.accessToken), SessionEnded);
});
