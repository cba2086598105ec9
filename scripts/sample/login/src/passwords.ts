import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import type { Clock } from "./clock.ts";

const derive = promisify(scrypt) as (password: string, salt: Buffer, length: number) => Promise<Buffer>;
const SALT_BYTES = 16;
const KEY_BYTES = 32;
const HOUR = 3600;

/** Hashes and checks passwords, and locks a name after too many wrong ones. */
export class Passwords {
  private readonly failures = new Map<string, number[]>();

  constructor(
    private readonly clock: Clock,
    private readonly maxFailures: number,
  ) {}

  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const key = await derive(password, salt, KEY_BYTES);
    return `${salt.toString("hex")}:${key.toString("hex")}`;
  }

  async matches(password: string, stored: string | undefined): Promise<boolean> {
    const [salt, key] = (stored ?? `${"00".repeat(SALT_BYTES)}:${"00".repeat(KEY_BYTES)}`).split(":");
    const derived = await derive(password, Buffer.from(salt, "hex"), KEY_BYTES);
    return timingSafeEqual(derived, Buffer.from(key, "hex")) && stored !== undefined;
  }

  isLocked(name: string): boolean {
    return this.recent(name).length >= this.maxFailures;
  }

  noteFailure(name: string): void {
    this.failures.set(name.toLowerCase(), [...this.recent(name), this.clock.now()]);
  }

  private recent(name: string): number[] {
    const since = this.clock.now() - HOUR;
    return (this.failures.get(name.toLowerCase()) ?? []).filter((at) => at > since);
  }
}
