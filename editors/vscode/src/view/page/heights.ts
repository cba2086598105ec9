/**
 * The heights of all rows, measured or estimated, as sums that answer two questions in logarithmic time: where does row
 * i begin, and which row is at y? The sums are a Fenwick tree, so that adding a row costs the same after 10,000 rows as
 * after 100. Pixels.
 */
export class Heights {
  #values: number[] = [];
  /** `#sums[i]` is the sum of the `i & -i` heights that end with row `i - 1`. */
  #sums: number[] = [0];

  get length(): number {
    return this.#values.length;
  }

  get total(): number {
    return this.top(this.#values.length);
  }

  get(row: number): number {
    return this.#values[row] ?? 0;
  }

  push(height: number): void {
    this.#values.push(height);
    const i = this.#values.length;
    let sum = height;
    for (let below = i - 1; below > i - (i & -i); below -= below & -below) sum += this.#sums[below] ?? 0;
    this.#sums.push(sum);
  }

  set(row: number, height: number): void {
    const change = height - this.get(row);
    if (row >= this.#values.length || change === 0) return;
    this.#values[row] = height;
    for (let i = row + 1; i < this.#sums.length; i += i & -i) this.#sums[i] = (this.#sums[i] ?? 0) + change;
  }

  /** Keeps the first `length` rows. */
  truncate(length: number): void {
    this.#values.length = Math.min(length, this.#values.length);
    this.#sums.length = this.#values.length + 1;
  }

  /** Returns the height of all rows before `row`. */
  top(row: number): number {
    let sum = 0;
    for (let i = Math.min(row, this.#values.length); i > 0; i -= i & -i) sum += this.#sums[i] ?? 0;
    return sum;
  }

  /** Returns the row at `y`: the first row for smaller values, the last row for larger ones, -1 without rows. */
  at(y: number): number {
    let row = 0;
    let left = y;
    for (let step = highestBit(this.#values.length); step > 0; step >>= 1) {
      const sum = this.#sums[row + step];
      if (sum !== undefined && sum <= left) {
        row += step;
        left -= sum;
      }
    }
    return Math.min(row, this.#values.length - 1);
  }
}

function highestBit(value: number): number {
  return value === 0 ? 0 : 1 << (31 - Math.clz32(value));
}
