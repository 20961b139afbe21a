// snowflake.mjs: keys taken apart, and ranges of time put together.
const EPOCH = Date.UTC(2023, 0, 1);

export function parts(id) {                 // a BigInt, or its digits
  const bits = BigInt(id);
  return {
    createdAt: new Date(Number(bits >> 22n) + EPOCH),
    shard: Number(bits >> 12n & 1023n),
    sequence: Number(bits & 4095n),
  };
}

// The smallest id of a time: rows made in March are those of firstId(1 March) or
// above, and below firstId(1 April).
export function firstId(date) {
  return BigInt(date.getTime() - EPOCH) << 22n;
}

export function combTime(uuid) {            // of a COMB, or any UUID of version 7
  return new Date(parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16));
}

// The same for snowflake53, whose ids are plain numbers. JavaScript shifts 32 bits
// only, so this divides.
export function parts53(id) {
  return {
    createdAt: new Date(Math.floor(id / 4096) + EPOCH),
    shard: Math.floor(id / 128) % 32,
    sequence: id % 128,
  };
}

export function firstId53(date) {
  return (date.getTime() - EPOCH) * 4096;
}
