'use strict';
// Every filter the client can express, on known rows, with the cells that must come back.

const {
  CODE, assert, bytes, cellsOf, check, fill, newTableId, refused, rowsOf, withTable,
} = require('./common');

// [row, family, qualifier, micros, value]
const CELLS = [
  ['a#1', 'raw', 'binary', 3000, '\x00\xff'],
  ['a#1', 'stats', 'cell', 2000, '2'],
  ['a#1', 'stats', 'cell', 1000, '1'],
  ['a#1', 'stats', 'os', 1000, 'PQ2A'],
  ['a#2', 'stats', 'cell', 1000, '7'],
  ['a#2', 'stats', 'wifi', 2000, ''],
  ['b\n1', 'raw', 'text', 5000, 'line\nbreak'],
  ['b#2', 'stats', 'os', 1000, 'OPM1'],
  ['\xff\xfe', 'raw', 'text', 1000, 'end'],
];

const keep = (condition, labels = []) =>
  CELLS.filter(
    ([row, family, column, micros, value]) => condition({row, family, column, micros, value}),
  ).map(cell => [...cell, labels]);

const stats = keep(({family}) => family === 'stats');
const twice = stats.flatMap(cell => [cell, cell]);
const withOs = new Set(keep(({column}) => column === 'os').map(([row]) => row));

function slices(cells, from, to) {
  const seen = {};
  return cells.filter(([row]) => {
    seen[row] = (seen[row] ?? -1) + 1;
    return from <= seen[row] && seen[row] < to;
  });
}

const copies = {interleave: [[{all: true}], [{all: true}]]};

const CASES = {
  pass_all: [{all: true}, keep(() => true)],
  block_all: [{all: false}, []],
  row_key_regex_dot_is_no_newline: [{row: /.*/}, keep(({row}) => !row.includes('\n'))],
  row_key_regex_any_byte: [{row: '\\C*'}, keep(() => true)],
  row_key_regex_is_a_full_match: [{row: 'a#'}, []],
  row_key_in_a_list: [{row: {key: ['a#1', 'b#2']}}, keep(({row}) => ['a#1', 'b#2'].includes(row))],
  row_key_of_bytes: [{row: {key: bytes('\xff\xfe')}}, keep(({row}) => row === '\xff\xfe')],
  family_regex: [{family: /sta.*/}, stats],
  column_regex: [{column: /c.*|os/}, keep(({column}) => ['cell', 'os'].includes(column))],
  column_range_closed: [
    {column: {family: 'stats', start: 'cell', end: 'os'}},
    keep(({family, column}) => family === 'stats' && ['cell', 'os'].includes(column)),
  ],
  column_range_open: [
    {column: {
      family: 'stats',
      start: {value: 'cell', inclusive: false},
      end: {value: 'wifi', inclusive: false},
    }},
    keep(({column}) => column === 'os'),
  ],
  time_range: [
    {time: {start: new Date(1), end: new Date(3)}},
    keep(({micros}) => micros >= 1000 && micros < 3000),
  ],
  time_range_without_end: [{time: {start: new Date(2)}}, keep(({micros}) => micros >= 2000)],
  value_regex: [{value: /[0-9]|O.*/}, keep(({value}) => /^([0-9]|O.*)$/.test(value))],
  value_of_bytes: [{value: bytes('PQ2A')}, keep(({value}) => value === 'PQ2A')],
  value_range_closed: [
    {value: {start: '1', end: '2'}}, keep(({value}) => value >= '1' && value <= '2'),
  ],
  value_range_open: [
    {value: {start: {value: '1', inclusive: false}, end: {value: '7', inclusive: false}}},
    keep(({value}) => value === '2'),
  ],
  strip_value: [{value: {strip: true}}, CELLS.map(cell => [...cell.slice(0, 4), '', []])],
  label: [{label: 'seen-by-1'}, keep(() => true, ['seen-by-1'])],
  cells_per_row_offset: [[{family: 'stats'}, {row: {cellOffset: 1}}], slices(stats, 1, 99)],
  cells_per_row_limit: [[{family: 'stats'}, {row: {cellLimit: 2}}], slices(stats, 0, 2)],
  cells_per_column_limit: [
    {column: {cellLimit: 1}},
    keep(({row, column, micros}) => !(row === 'a#1' && column === 'cell' && micros === 1000)),
  ],
  interleave_keeps_duplicates: [[{family: 'stats'}, copies], twice],
  duplicates_are_counted: [
    [{family: 'stats'}, copies, {row: {cellLimit: 3}}], slices(twice, 0, 3),
  ],
  chain: [[{family: 'stats'}, {column: 'os'}, {value: /P.*/}], keep(({value}) => value === 'PQ2A')],
  condition_both_ways: [
    {condition: {test: [{column: 'os'}], pass: [{label: 'os'}], fail: [{value: {strip: true}}]}},
    CELLS.map(cell => withOs.has(cell[0]) ? [...cell, ['os']] : [...cell.slice(0, 4), '', []]),
  ],
  condition_without_else: [
    {condition: {test: [{column: 'os'}], pass: [{all: true}], fail: []}},
    keep(({row}) => withOs.has(row)),
  ],
  sink: [
    [
      {family: 'stats'},
      {interleave: [[{all: true}], [{label: 'sunk'}, {sink: true}]]},
      {column: 'os'},
    ],
    stats.flatMap(cell => [...(cell[2] === 'os' ? [cell] : []), [...cell.slice(0, 5), ['sunk']]]),
  ],
};

const REFUSED = {
  broken_regex: {value: '(unclosed'},
  label_in_capitals: {label: 'LABEL'},
  label_of_16: {label: 'abcdefghijklmnop'},
  negative_limit: {row: {cellLimit: -1}},
  colon_in_family: {family: 'stats:.*'},
  larger_than_20480_bytes: {value: 'x'.repeat(20480)},
  sink_in_condition: {condition: {test: [{all: true}], pass: [{sink: true}], fail: [{all: true}]}},
};

// Which family of a row comes first, and which copy of a cell, is the server's choice.
function settled(cells) {
  const text = ([row, family, column, micros, , labels]) => JSON.stringify(
    [row, family, column, String(1e9 - micros), labels],
  );
  const order = new Map();
  for (const [row] of cells) if (!order.has(row)) order.set(row, order.size);
  const compare = (a, b) => order.get(a[0]) - order.get(b[0]) || (text(a) < text(b) ? -1 : 1);
  return [...cells].sort(compare);
}

let known;

async function makeTable(instance) {
  known = instance.table(newTableId('filters'));
  await known.create({families: ['raw', 'stats']});
  for (const [row, family, column, timestamp, value] of CELLS) {
    const data = {[family]: {[column]: {value: bytes(value), timestamp}}};
    await known.insert({key: bytes(row), data});
  }
  return known;
}

for (const [name, [filter, wanted]] of Object.entries(CASES)) {
  check(`filter_${name}`, async () => {
    const rows = await rowsOf(known, {filter});
    assert.deepEqual(settled(rows.flatMap(cellsOf)), settled(wanted));
  });
}

for (const [name, filter] of Object.entries(REFUSED)) {
  check(`filter_refused_${name}`, () => refused(CODE.INVALID_ARGUMENT, known.getRows({filter})));
}

check('filter_row_sample', instance => withTable(instance, 'sample', ['stats'], async table => {
  await fill(table, Array.from({length: 2000}, (_, n) => `r${n}`));
  const [rows] = await table.getRows({filter: {row: {sample: 0.5}}});
  assert.ok(rows.length > 700 && rows.length < 1300, `${rows.length} rows of 2000 at 0.5`);
}));

module.exports = {makeTable};
