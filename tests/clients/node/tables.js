'use strict';
// Tables, families and their rules, the instance.

const {
  CODE, EMULATOR, INSTANCE, assert, check, client, fill, keysOf, newTableId, refused, rowsOf, sleep,
  withTable,
} = require('./common');

const DAY = {seconds: 86400, nanos: 0};

// A rule as it comes back, without what was left out.
function plain(rule) {
  if (!rule) return null;
  if (rule.rule === 'maxNumVersions') return {versions: rule.maxNumVersions};
  if (rule.rule === 'maxAge') return {age: Number(rule.maxAge.seconds)};
  return {[rule.rule]: rule[rule.rule].rules.map(plain)};
}

check('gc_rules_come_back', instance => withTable(instance, 'gc', {
  families: [
    'all',
    {name: 'versions', rule: {versions: 3}},
    {name: 'age', rule: {age: DAY}},
    {name: 'either', rule: {age: DAY, versions: 3, union: true}},
    {name: 'both', rule: {age: DAY, versions: 3}},
    {name: 'nested', rule: {versions: 9, union: true, rule: {age: DAY, versions: 3}}},
  ],
}, async table => {
  const [families] = await table.getFamilies();
  const rules = Object.fromEntries(families.map(one => [one.id, plain(one.metadata.gcRule)]));
  const both = [{age: 86400}, {versions: 3}];
  assert.deepEqual(rules, {
    all: null,
    versions: {versions: 3},
    age: {age: 86400},
    either: {union: both},
    both: {intersection: both},
    nested: {union: [{versions: 9}, {intersection: both}]},
  });
}));

check('families_are_added_changed_and_dropped', instance => withTable(
  instance, 'families', ['stats', 'gone'],
  async table => {
    await table.insert({key: 'r', data: {stats: {c: 'kept'}, gone: {c: 'dropped'}}});
    const [family] = await table.createFamily('added', {rule: {versions: 1}});
    await family.setMetadata({rule: {versions: 2}});
    await table.family('gone').delete();
    const [families] = await table.getFamilies();
    const rules = Object.fromEntries(families.map(one => [one.id, plain(one.metadata.gcRule)]));
    assert.deepEqual(rules, {added: {versions: 2}, stats: null});
    const [row] = await rowsOf(table);
    assert.deepEqual(Object.keys(row.data), ['stats']);
  },
));

check('versions_beyond_the_rule_are_not_kept', instance => withTable(
  instance, 'versions', [{name: 'stats', rule: {versions: 2}}],
  async table => {
    for (const timestamp of [1000, 2000, 3000]) {
      await table.insert({key: 'r', data: {stats: {c: {value: String(timestamp), timestamp}}}});
    }
    let values;
    for (let turn = 0; turn < 450; turn++) {
      const [row] = await rowsOf(table);
      values = row.data.stats.c.map(one => one.value.toString());
      if (values.length === 2) break;
      await sleep(200);
    }
    assert.deepEqual(values, ['3000', '2000']);
  },
));

check('tables_are_listed_and_deleted', async instance => {
  const table = instance.table(newTableId('listed'));
  assert.deepEqual(await table.exists(), [false]);
  await table.create({families: ['stats']});
  assert.deepEqual(await table.exists(), [true]);
  const listed = async () => (await instance.getTables())[0].map(one => one.id);
  assert.ok((await listed()).includes(table.id), 'it is not listed');
  await table.delete();
  assert.ok(!(await listed()).includes(table.id), 'it is listed after the delete');
  assert.deepEqual(await table.exists(), [false]);
});

check('a_second_table_of_the_name_already_exists', instance => withTable(
  instance, 'twice', ['stats'],
  async table => {
    await refused(CODE.ALREADY_EXISTS, table.create({families: ['stats']}));
    await refused(CODE.ALREADY_EXISTS, table.createFamily('stats'));
  },
));

check('bad_names_are_invalid', async instance => {
  await refused(CODE.INVALID_ARGUMENT, instance.table('a table').create({families: ['stats']}));
  await refused(
    CODE.INVALID_ARGUMENT, instance.table(newTableId('family')).create({families: ['a:b']}),
  );
});

check('the_instance_is_there', async instance => {
  const {bigtable} = instance;
  assert.deepEqual(await instance.exists(), [true]);
  const [instances] = await bigtable.getInstances();
  assert.deepEqual(instances.map(one => one.id), [INSTANCE]);
  const [clusters] = await instance.getClusters();
  assert.ok(clusters.length >= 1, 'no cluster');
  assert.deepEqual(await bigtable.instance('no-such-instance').exists(), [false]);
});

check('replication_is_awaited', instance => withTable(instance, 'wait', ['stats'], async table => {
  await fill(table, ['r']);
  assert.deepEqual(await table.waitForReplication(), [true]);
}));

check('samples_of_a_new_table_are_its_splits', instance => withTable(
  instance, 'splits', {families: ['stats'], splits: [Buffer.from('g'), Buffer.from('p')]},
  async table => {
    const [samples] = await table.sampleRowKeys();
    assert.deepEqual(samples.map(one => one.key.toString()), ['g', 'p', '']);
    const offsets = samples.map(one => Number(one.offset));
    assert.deepEqual(offsets, [...offsets].sort((a, b) => a - b));
  },
));

check('drops_by_prefix_take_that_prefix', instance => withTable(
  instance, 'drop', ['stats'],
  async table => {
    const keys = ['a', 'a#1', 'a#2', 'a$', 'b', '\xff', '\xff\xff'];
    await fill(table, keys);
    await table.deleteRows('a#', {timeout: 200000});
    assert.deepEqual(await keysOf(table), ['a', 'a$', 'b', '\xff', '\xff\xff']);
    await fill(table, ['a#1']);
    assert.deepEqual(await keysOf(table, {prefix: 'a#'}), ['a#1']);
    await table.deleteRows(Buffer.from([0xff]), {timeout: 200000});
    assert.deepEqual(await keysOf(table), ['a', 'a#1', 'a$', 'b']);
    await table.truncate({timeout: 200000});
    assert.deepEqual(await keysOf(table), []);
    assert.deepEqual(await table.exists(), [true]);
  },
));

if (EMULATOR) {
  check('a_project_never_seen_before_has_an_instance', async () => {
    const bigtable = client(`new-${process.pid}-${Date.now() % 1e6}`);
    await withTable(bigtable.instance(INSTANCE), 'new', ['stats'], async table => {
      await fill(table, ['r']);
      assert.deepEqual(await keysOf(table), ['r']);
    });
    await bigtable.close();
  });
}
