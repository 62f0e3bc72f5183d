/**
 * CityHash128 as ClickHouse uses it for the checksums of compressed blocks: version 1.0.2, which differs from later
 * ones. 64-bit numbers are pairs of 32-bit halves, because BigInt is fifty times slower here.
 */

/** One 64-bit number: `hi` and `lo` as unsigned 32-bit halves. */
type U64 = { hi: number; lo: number };

const k0: U64 = { hi: 0xc3a5c85c, lo: 0x97cb3127 };
const k1: U64 = { hi: 0xb492b66f, lo: 0xbe98f273 };
const k2: U64 = { hi: 0x9ae16a3b, lo: 0x2f90404f };
const k3: U64 = { hi: 0xc949d7c7, lo: 0x509e6557 };
const kMul: U64 = { hi: 0x9ddfea08, lo: 0xeb382d69 };

/** The 16 bytes as they precede a compressed block. */
export function cityHash128(data: Buffer): Buffer {
  const [low, high] = hash(data);
  const out = Buffer.allocUnsafe(16);
  put(out, 0, low);
  put(out, 8, high);
  return out;
}

/** The same from a given state, as ClickHouse chains the blocks of a stream. */
export function cityHash128WithSeed(data: Buffer, state: Buffer): Buffer {
  const [low, high] = seeded(data, 0, data.length, get(state, 0), get(state, 8));
  const out = Buffer.allocUnsafe(16);
  put(out, 0, low);
  put(out, 8, high);
  return out;
}

function hash(data: Buffer): [U64, U64] {
  const { length } = data;
  if (length < 8) return seeded(data, 0, length, k0, k1);
  if (length < 16) {
    const low = xor(get(data, 0), mul({ hi: 0, lo: length }, k0));
    return seeded(data, 0, 0, low, xor(get(data, length - 8), k1));
  }
  return seeded(data, 16, data.length - 16, xor(get(data, 0), k3), get(data, 8));
}

function seeded(data: Buffer, start: number, length: number, seedLow: U64, seedHigh: U64): [U64, U64] {
  if (length < 128) return murmur(data, start, length, seedLow, seedHigh);
  let v0: U64;
  let v1: U64;
  let w0: U64;
  let w1: U64;
  let x = seedLow;
  let y = seedHigh;
  let z = mul(k1, { hi: 0, lo: length });
  v0 = add(mul(rotate(xor(y, k1), 49), k1), get(data, start));
  v1 = add(mul(rotate(v0, 42), k1), get(data, start + 8));
  w0 = add(mul(rotate(add(y, z), 35), k1), x);
  w1 = mul(rotate(add(x, get(data, start + 88)), 53), k1);
  let at = start;
  let left = length;
  do {
    for (let half = 0; half < 2; half += 1) {
      x = mul(rotate(add(add(add(x, y), v0), get(data, at + 16)), 37), k1);
      y = mul(rotate(add(add(y, v1), get(data, at + 48)), 42), k1);
      x = xor(x, w1);
      y = xor(y, v0);
      z = rotate(xor(z, w0), 33);
      [v0, v1] = weak(data, at, mul(v1, k1), add(x, w0));
      [w0, w1] = weak(data, at + 32, add(z, w1), y);
      [z, x] = [x, z];
      at += 64;
    }
    left -= 128;
  } while (left >= 128);
  y = add(y, add(mul(rotate(w0, 37), k0), z));
  x = add(x, mul(rotate(add(v0, z), 49), k0));
  // Up to four chunks of 32 bytes from the end; they may overlap what was hashed before.
  for (let tail = 0; tail < left; ) {
    tail += 32;
    y = add(mul(rotate(sub(y, x), 42), k0), v1);
    const from = at + left - tail;
    w0 = add(w0, get(data, from + 16));
    x = add(mul(rotate(x, 49), k0), w0);
    w0 = add(w0, v0);
    [v0, v1] = weak(data, from, v0, v1);
  }
  x = hash16(x, v0);
  y = hash16(y, w0);
  return [add(hash16(add(x, v1), w1), y), hash16(add(x, w1), add(y, v1))];
}

function murmur(data: Buffer, start: number, length: number, seedLow: U64, seedHigh: U64): [U64, U64] {
  let a = seedLow;
  let b = seedHigh;
  let c: U64;
  let d: U64;
  let left = length - 16;
  if (left <= 0) {
    a = mul(shiftMix(mul(a, k1)), k1);
    c = add(mul(b, k1), shortHash(data, start, length));
    d = shiftMix(add(a, length >= 8 ? get(data, start) : c));
  } else {
    c = hash16(add(get(data, start + length - 8), k1), a);
    d = hash16(add(b, { hi: 0, lo: length }), add(c, get(data, start + length - 16)));
    a = add(a, d);
    let at = start;
    do {
      a = mul(xor(a, mul(shiftMix(mul(get(data, at), k1)), k1)), k1);
      b = xor(b, a);
      c = mul(xor(c, mul(shiftMix(mul(get(data, at + 8), k1)), k1)), k1);
      d = xor(d, c);
      at += 16;
      left -= 16;
    } while (left > 0);
  }
  a = hash16(a, c);
  b = hash16(d, b);
  return [xor(a, b), hash16(b, a)];
}

/** The hash of up to 16 bytes. */
function shortHash(data: Buffer, start: number, length: number): U64 {
  if (length > 8) {
    const a = get(data, start);
    const b = get(data, start + length - 8);
    return xor(hash16(a, rotate(add(b, { hi: 0, lo: length }), length)), b);
  }
  if (length >= 4) {
    const a = data.readUInt32LE(start);
    const shifted = { hi: a >>> 29, lo: (a << 3) >>> 0 };
    return hash16(add({ hi: 0, lo: length }, shifted), { hi: 0, lo: data.readUInt32LE(start + length - 4) });
  }
  if (length > 0) {
    const a = data[start] as number;
    const b = data[start + (length >> 1)] as number;
    const c = data[start + length - 1] as number;
    const y = { hi: 0, lo: a + (b << 8) };
    const z = { hi: 0, lo: length + (c << 2) };
    return mul(shiftMix(xor(mul(y, k2), mul(z, k3))), k2);
  }
  return k2;
}

function weak(data: Buffer, at: number, seedA: U64, seedB: U64): [U64, U64] {
  const w = get(data, at);
  const z = get(data, at + 24);
  let a = add(seedA, w);
  let b = rotate(add(add(seedB, a), z), 21);
  const c = a;
  a = add(add(a, get(data, at + 8)), get(data, at + 16));
  b = add(b, rotate(a, 44));
  return [add(a, z), add(b, c)];
}

function hash16(u: U64, v: U64): U64 {
  const a = shiftMix(mul(xor(u, v), kMul));
  return mul(shiftMix(mul(xor(v, a), kMul)), kMul);
}

function shift47(a: U64): U64 {
  return { hi: 0, lo: a.hi >>> 15 };
}

function shiftMix(a: U64): U64 {
  return xor(a, shift47(a));
}

function add(a: U64, b: U64): U64 {
  const lo = a.lo + b.lo;
  return { hi: (a.hi + b.hi + (lo > 0xffffffff ? 1 : 0)) >>> 0, lo: lo >>> 0 };
}

function sub(a: U64, b: U64): U64 {
  return { hi: (a.hi - b.hi - (a.lo < b.lo ? 1 : 0)) >>> 0, lo: (a.lo - b.lo) >>> 0 };
}

function xor(a: U64, b: U64): U64 {
  return { hi: (a.hi ^ b.hi) >>> 0, lo: (a.lo ^ b.lo) >>> 0 };
}

function rotate(a: U64, by: number): U64 {
  const bits = by & 31;
  const [hi, lo] = by & 32 ? [a.lo, a.hi] : [a.hi, a.lo];
  if (bits === 0) return { hi, lo };
  return { hi: ((hi >>> bits) | (lo << (32 - bits))) >>> 0, lo: ((lo >>> bits) | (hi << (32 - bits))) >>> 0 };
}

function mul(a: U64, b: U64): U64 {
  const a0 = a.lo & 0xffff;
  const a1 = a.lo >>> 16;
  const b0 = b.lo & 0xffff;
  const b1 = b.lo >>> 16;
  const low = a0 * b0;
  const mid = a1 * b0 + (low >>> 16);
  const mid2 = a0 * b1 + (mid & 0xffff);
  const carry = a1 * b1 + Math.floor(mid / 0x10000) + Math.floor(mid2 / 0x10000);
  const hi = (carry + Math.imul(a.hi, b.lo) + Math.imul(a.lo, b.hi)) >>> 0;
  return { hi, lo: ((mid2 << 16) | (low & 0xffff)) >>> 0 };
}

function get(data: Buffer, at: number): U64 {
  return { hi: data.readUInt32LE(at + 4), lo: data.readUInt32LE(at) };
}

function put(out: Buffer, at: number, value: U64): void {
  out.writeUInt32LE(value.lo, at);
  out.writeUInt32LE(value.hi, at + 4);
}
