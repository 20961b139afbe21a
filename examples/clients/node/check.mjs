// check.mjs: what the programs here share: a line for each check, and the vectors.
import { readFileSync } from 'node:fs';

export function check(what, ok, seen) {
  console.log(ok ? `ok ${what}` : `not ok ${what}: ${String(seen)}`);
}

export function same(what, seen, expected) {
  check(what, seen === expected, `${seen}, not ${expected}`);
}

export function end() {
  console.log('end');
}

// The rows of one kind, each a list of fields.
export function vectors(kind) {
  return readFileSync(new URL('../vectors.tsv', import.meta.url), 'utf8').split('\n')
    .map((line) => line.split('\t'))
    .filter((fields) => fields[0] === kind)
    .map((fields) => fields.slice(1));
}

// A time of the vectors, as JavaScript has it: to the millisecond.
export function vectorTime(text) {
  return new Date(text.replace(' ', 'T').replace(/(\.\d{3})\d{3}\+00$/, '$1Z'));
}

// An id that a double cannot hold; a row of that time; and the day it was made.
export const OLD = '154173452582932603';
export const MARCH_1 = new Date('2024-03-01T00:00:00Z');
export const MARCH_2 = new Date('2024-03-02T00:00:00Z');
