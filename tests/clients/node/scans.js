'use strict';
// Long scans: slow readers, deadlines, readers that go away.

const {CODE, assert, check, newTableId, refused, sleep} = require('./common');

// Together far more than the client takes in ahead of a slow reader.
const ROWS = 100000;
const VALUE = Buffer.alloc(300, 'v');
const scanKey = n => `row#${String(n).padStart(8, '0')}`;

let table;

async function makeTable(instance) {
  table = instance.table(newTableId('scan'));
  await table.create({families: ['stats']});
  for (let start = 0; start < ROWS; start += 5000) {
    await table.insert(Array.from({length: 5000}, (_, n) => ({
      key: scanKey(start + n), data: {stats: {v: {value: VALUE, timestamp: 1000}}},
    })));
  }
  return table;
}

check('a_slow_reader_gets_every_row', async () => {
  let expected = 0;
  for await (const row of table.createReadStream({decode: false})) {
    if (expected === 1 || expected === ROWS / 2) await sleep(2000);
    else if (expected % 500 === 0) await sleep(10);
    if (row.id.toString() !== scanKey(expected)) assert.equal(row.id.toString(), scanKey(expected));
    assert.ok(row.data.stats.v[0].value.equals(VALUE), `value of row ${expected}`);
    expected += 1;
  }
  assert.equal(expected, ROWS);
});

// A slow reader would not do: the client takes in a whole table before it lets the server wait.
check('a_deadline_ends_a_scan', async () => {
  for (let turn = 0; turn < 20; turn++) {
    await refused(CODE.DEADLINE_EXCEEDED, table.getRows({gaxOptions: {timeout: 10}}));
  }
  const [row] = await table.row(scanKey(7)).get();
  assert.equal(row.id, scanKey(7));
});

check('abandoned_scans_leave_the_server_well', async () => {
  for (let turn = 0; turn < 50; turn++) {
    const stream = table.createReadStream({start: scanKey(turn)});
    for await (const row of stream) {
      assert.equal(row.id, scanKey(turn));
      break;
    }
    stream.end();
  }
  const [rows] = await table.getRows({limit: 5});
  assert.deepEqual(rows.map(row => row.id), [0, 1, 2, 3, 4].map(scanKey));
});

check('samples_end_with_the_table', async () => {
  const [samples] = await table.sampleRowKeys();
  const keys = samples.map(one => one.key.toString());
  assert.equal(keys.at(-1), '');
  assert.deepEqual(keys.slice(0, -1), [...new Set(keys.slice(0, -1))].sort());
  assert.ok(Number(samples.at(-1).offset) > ROWS * 10, `${samples.at(-1).offset} bytes in all`);
});

module.exports = {makeTable};
