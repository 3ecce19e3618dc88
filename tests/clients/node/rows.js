'use strict';
// One row, atomically.

const {CODE, assert, check, fill, refused, rowsOf, withTable} = require('./common');

const insert = (column, value = '1') => ({
  method: 'insert', data: {stats: {[column]: {value, timestamp: 1000}}},
});

check('conditional_writes_take_one_branch', instance => withTable(
  instance, 'conditional', ['stats'],
  async table => {
    const row = table.row('r');
    const test = [{value: 'yes'}];
    const branches = {onMatch: [insert('then')], onNoMatch: [insert('else')]};
    await row.save({stats: {c: {value: 'no', timestamp: 1000}}});
    assert.equal((await row.filter(test, branches))[0], false);
    await row.save({stats: {c: {value: 'yes', timestamp: 1000}}});
    assert.equal((await row.filter(test, branches))[0], true);
    await row.filter(test, {onMatch: [{method: 'delete', data: ['stats:else']}]});
    const [got] = await rowsOf(table);
    assert.deepEqual(Object.keys(got.data.stats), ['c', 'then']);
    await refused(CODE.INVALID_ARGUMENT, row.filter(test, {}));
  },
));

check('appends_and_increments', instance => withTable(
  instance, 'append', ['stats'],
  async table => {
    await fill(table, ['r']);
    const row = table.row('r');
    const [answer] = await row.createRules([
      {column: 'stats:log', append: 'one,'},
      {column: 'stats:log', append: 'two'},
      {column: 'stats:count', increment: 3},
      {column: 'stats:count', increment: -5},
    ]);
    const columns = answer.row.families[0].columns.map(one => one.qualifier.toString());
    assert.deepEqual(columns.sort(), ['count', 'log']);
    const [got] = await row.get();
    assert.equal(got.data.stats.log[0].value, 'one,two');
    assert.equal(got.data.stats.count[0].value, -2);
    assert.equal((await row.increment('stats:count', 44))[0], 42);
  },
));

check('increments_of_many_callers_add_up', instance => withTable(
  instance, 'callers', ['stats'],
  async table => {
    const row = table.row('r');
    const all = await Promise.all(Array.from({length: 100}, () => row.increment('stats:c', 1)));
    const values = all.map(([value]) => value).sort((a, b) => a - b);
    assert.deepEqual(values, Array.from({length: 100}, (_, n) => n + 1));
  },
));

check('increments_need_eight_bytes', instance => withTable(
  instance, 'seven', ['stats'],
  async table => {
    await table.insert({key: 'r', data: {stats: {c: '1234567', d: 'd'}}});
    const rules = [{column: 'stats:d', append: 'more'}, {column: 'stats:c', increment: 1}];
    await refused(CODE.FAILED_PRECONDITION, table.row('r').createRules(rules));
    const [got] = await rowsOf(table);
    assert.equal(got.data.stats.d[0].value.toString(), 'd');
  },
));
