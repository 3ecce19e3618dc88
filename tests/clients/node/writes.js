'use strict';
// Writes of rows, one and many.

const {randomBytes} = require('node:crypto');
const {PartialFailureError} = require('@google-cloud/bigtable/build/src/table');
const {
  CODE, HASTY, INSTANCE, assert, bytes, cellsOf, check, client, entry, fill, keysOf, refused, rowsOf,
  withTable,
} = require('./common');

const cut = cells => cells.map(([, family, qualifier, micros]) => [family, qualifier, micros]);

check('a_row_is_written_and_read', instance => withTable(
  instance, 'row', ['stats', 'raw'],
  async table => {
    const key = 'phone#4c410523#20190501';
    const before = Date.now() - 60000;
    await table.insert({
      key,
      data: {
        stats: {connected_cell: 1, os_build: {value: 'PQ2A.190405.003', timestamp: 5000}},
        raw: {b: {value: Buffer.from([0, 255, 0]), timestamp: new Date(3)}},
      },
    });
    const [row] = await table.row(key).get();
    assert.equal(row.data.stats.connected_cell[0].value, 1);
    assert.equal(row.data.stats.os_build[0].value, 'PQ2A.190405.003');
    assert.equal(Number(row.data.stats.os_build[0].timestamp), 5000);
    assert.ok(Number(row.data.stats.connected_cell[0].timestamp) / 1000 > before);
    const [raw] = await table.row(key).get({decode: false});
    assert.deepEqual(raw.data.raw.b[0].value, Buffer.from([0, 255, 0]));
    assert.equal(Number(raw.data.raw.b[0].timestamp), 3000);
    assert.deepEqual(await table.row(key).exists(), [true]);
    assert.deepEqual(await table.row('phone').exists(), [false]);
    const [column] = await table.row(key).get(['stats:os_build']);
    assert.deepEqual(Object.keys(column.stats), ['os_build']);
  },
));

check('deletes_take_what_they_name', instance => withTable(
  instance, 'deletes', ['stats', 'raw'],
  async table => {
    const row = table.row('r');
    for (const timestamp of [1000, 2000, 3000]) {
      await row.save({stats: {a: {value: 'v', timestamp}}});
    }
    await row.save({
      stats: {b: {value: 'v', timestamp: 1000}}, raw: {c: {value: 'v', timestamp: 1000}},
    });
    const left = async () => cut((await rowsOf(table)).flatMap(cellsOf)).sort();
    const time = {start: new Date(1), end: new Date(3)};
    await row.deleteCells([{column: 'stats:a', time}]);
    const b = ['stats', 'b', 1000];
    assert.deepEqual(await left(), [['raw', 'c', 1000], ['stats', 'a', 3000], b]);
    await row.deleteCells(['stats:a']);
    assert.deepEqual(await left(), [['raw', 'c', 1000], ['stats', 'b', 1000]]);
    await row.deleteCells(['stats']);
    assert.deepEqual(await left(), [['raw', 'c', 1000]]);
    await row.delete();
    assert.deepEqual(await left(), []);
  },
));

check('bulk_writes_say_which_row_failed', instance => withTable(
  instance, 'bulk', ['stats'],
  async table => {
    const entries = Array.from({length: 100}, (_, n) => ({
      key: `r${String(n).padStart(3, '0')}`,
      data: {[n % 10 === 3 ? 'none' : 'stats']: {n: 'v'}},
    }));
    let error;
    try {
      await table.insert(entries);
    } catch (e) {
      error = e;
    }
    assert.ok(error instanceof PartialFailureError, `no PartialFailureError: ${error}`);
    assert.deepEqual(error.errors.map(one => one.code), Array(10).fill(CODE.NOT_FOUND));
    const failed = entries.filter((_, n) => n % 10 === 3).map(one => one.key);
    assert.deepEqual(error.errors.map(one => one.entry.key), failed);
    const written = entries.map(one => one.key).filter(key => !failed.includes(key));
    assert.deepEqual(await keysOf(table), written);
  },
));

check('bulk_writes_of_thousands', instance => withTable(
  instance, 'thousands', ['stats'],
  async table => {
    const keys = Array.from({length: 10000}, (_, n) => `r${String(n).padStart(5, '0')}`);
    await fill(table, keys);
    assert.deepEqual(await keysOf(table), keys);
  },
));

check('large_cells_come_back_whole', instance => withTable(
  instance, 'large', ['stats'],
  async table => {
    const big = [randomBytes(20000000), randomBytes(20000000)];
    for (const [n, value] of big.entries()) {
      const small = {value: 'beside', timestamp: 1000};
      await table.insert({key: `k${n}`, data: {stats: {big: {value, timestamp: 1000}, small}}});
    }
    await fill(table, ['k', 'k00', 'k2']);
    const rows = await rowsOf(table);
    assert.deepEqual(rows.map(row => row.id.toString()), ['k', 'k0', 'k00', 'k1', 'k2']);
    for (const [n, value] of big.entries()) {
      const {stats} = rows[1 + 2 * n].data;
      assert.ok(stats.big[0].value.equals(value), `k${n}: other bytes`);
      assert.equal(stats.small[0].value.toString(), 'beside');
    }
  },
));

check('bad_rows_are_invalid', instance => withTable(instance, 'invalid', ['stats'], async table => {
  const refusedEntry = async one => {
    let error;
    try {
      await table.insert(one);
    } catch (e) {
      error = e;
    }
    const code = error?.errors?.[0]?.code ?? error?.code;
    assert.equal(code, CODE.INVALID_ARGUMENT, `${error}`);
  };
  await refusedEntry(entry('k'.repeat(4097)));
  await refusedEntry({key: 'r', data: {stats: {['q'.repeat(16 * 1024 + 1)]: 'v'}}});
  await refusedEntry({key: 'r', data: {stats: {c: {value: 'v', timestamp: 1}}}});
  await table.insert(entry('k'.repeat(4096)));
  assert.deepEqual(await keysOf(table), ['k'.repeat(4096)]);
}));

// The client retries RESOURCE_EXHAUSTED, entry or request, as often as the table says.
check('a_rate_limit_is_waited_for', async () => {
  const bigtable = client(HASTY);
  await withTable(bigtable.instance(INSTANCE), 'hasty', ['stats'], async table => {
    const keys = Array.from({length: 150}, (_, n) => `r${String(n).padStart(3, '0')}`);
    const batches = Array.from({length: 3}, (_, n) => keys.slice(50 * n, 50 * n + 50));
    // One bulk that is larger than the rate passes on credit; for seconds nothing else does.
    table.maxRetries = 12;
    await fill(table, Array.from({length: 400}, (_, n) => `first${n}`));
    table.maxRetries = 0;
    const refusal = await fill(table, batches[0]).catch(error => error);
    const codes = new Set((refusal?.errors ?? [refusal]).map(one => one?.code ?? refusal?.code));
    assert.deepEqual([...codes], [CODE.RESOURCE_EXHAUSTED], `${refusal}`);
    table.maxRetries = 12;
    for (const batch of batches) await fill(table, batch);
    assert.deepEqual(await keysOf(table, {prefix: 'r'}), keys);
  });
  await bigtable.close();
});

check('unknown_table_is_not_found', async instance => {
  const table = instance.table('no-such-table');
  await refused(CODE.NOT_FOUND, table.getRows());
  await refused(CODE.NOT_FOUND, table.insert(entry('r')));
  await refused(CODE.NOT_FOUND, table.row('r').increment('stats:c'));
  await refused(CODE.NOT_FOUND, table.sampleRowKeys());
  await refused(CODE.NOT_FOUND, table.delete());
  await refused(CODE.NOT_FOUND, table.getMetadata());
});

check('bytes_of_any_value_come_back', instance => withTable(
  instance, 'bytes', ['stats'],
  async table => {
    const all = Buffer.from(Array.from({length: 256}, (_, n) => n));
    await table.insert({key: all, data: {stats: {c: {value: all, timestamp: 1000}}}});
    const [row] = await rowsOf(table);
    assert.deepEqual(row.id, all);
    assert.deepEqual(row.data.stats.c[0].value, all);
    assert.deepEqual(cellsOf(row)[0][0], bytes(all.toString('latin1')).toString('latin1'));
  },
));
