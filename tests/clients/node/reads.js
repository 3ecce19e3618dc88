'use strict';
// Reads of ranges, prefixes and keys.

const {assert, bytes, check, fill, keysOf, withTable} = require('./common');

const KEYS = ['a', 'a#1', 'a#2', 'a$', 'b', 'b#1', 'c\0', 'c\0\0', '\xff', '\xff\xff'];
const closed = value => ({value: bytes(value), inclusive: true});
const open = value => ({value: bytes(value), inclusive: false});

check('ranges_prefixes_and_keys', instance => withTable(
  instance, 'ranges', ['stats'],
  async table => {
    await fill(table, KEYS);
    const reads = async (options, wanted) => assert.deepEqual(await keysOf(table, options), wanted);
    await reads({}, KEYS);
    await reads({start: 'a#1', end: 'b'}, KEYS.slice(1, 5));
    await reads({ranges: [{start: open('a#1'), end: open('b')}]}, KEYS.slice(2, 4));
    await reads({ranges: [{start: closed('c\0')}]}, KEYS.slice(6));
    await reads({ranges: [{end: open('a#2')}]}, KEYS.slice(0, 2));
    await reads({prefix: 'a#'}, KEYS.slice(1, 3));
    await reads({prefixes: ['b', 'a#']}, [...KEYS.slice(1, 3), ...KEYS.slice(4, 6)]);
    await reads({limit: 3}, KEYS.slice(0, 3));
    await reads({keys: [bytes('\xff'), 'a#2', 'nowhere', 'a#2']}, ['a#2', '\xff']);
    const overlap = () => ({
      keys: ['a#2', bytes('\xff')],
      ranges: [
        {start: closed('a#1'), end: open('a$')},
        {start: closed('a#2'), end: closed('b#')},
      ],
    });
    await reads(overlap(), [...KEYS.slice(1, 5), '\xff']);
    await reads({...overlap(), limit: 2}, KEYS.slice(1, 3));
  },
));

// Keys and timestamps of a reversed read, which the library has no word for, but the protocol.
async function backwards(table, options = {}) {
  const keys = [];
  const times = [];
  let isFirst = true;
  const stream = table.bigtable.request({
    client: 'BigtableClient',
    method: 'readRows',
    reqOpts: {tableName: table.name, reversed: true, ...options},
  });
  for await (const {chunks} of stream) {
    for (const chunk of chunks) {
      if (isFirst) keys.push(Buffer.from(chunk.rowKey).toString('latin1'));
      times.push(Number(chunk.timestampMicros));
      isFirst = chunk.commitRow;
    }
  }
  return {keys, times};
}

check('a_reversed_read_is_backwards', instance => withTable(
  instance, 'reversed', ['stats'],
  async table => {
    await fill(table, KEYS);
    await table.insert({key: 'b', data: {stats: {n: {value: '2', timestamp: 2000}}}});
    assert.deepEqual((await backwards(table)).keys, [...KEYS].reverse());
    const range = {startKeyClosed: bytes('a#2'), endKeyOpen: bytes('b#1')};
    assert.deepEqual(await backwards(table, {rows: {rowRanges: [range]}}), {
      keys: ['b', 'a$', 'a#2'], times: [2000, 1000, 1000, 1000],
    });
    assert.deepEqual((await backwards(table, {rowsLimit: 2})).keys, ['\xff\xff', '\xff']);
  },
));

check('a_read_that_ends_early_gives_what_it_read', instance => withTable(
  instance, 'early', ['stats'],
  async table => {
    await fill(table, KEYS);
    const seen = [];
    const stream = table.createReadStream({decode: false});
    for await (const row of stream) {
      seen.push(row.id.toString('latin1'));
      if (seen.length === 2) break;
    }
    assert.deepEqual(seen, KEYS.slice(0, 2));
  },
));
