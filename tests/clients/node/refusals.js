'use strict';
// Keys that may not.

const {
  CODE, INSTANCE, assert, checkOverTls, client, entry, fill, keyOf, keysOf, refused, withTable,
} = require('./common');

checkOverTls('a_made_up_key_is_unauthenticated', async () => {
  const bigtable = client(undefined, 'btt_' + '0'.repeat(55));
  const table = bigtable.instance(INSTANCE).table('any');
  await refused(CODE.UNAUTHENTICATED, table.getRows());
  await refused(CODE.UNAUTHENTICATED, table.insert(entry('r')));
  await refused(CODE.UNAUTHENTICATED, table.getMetadata());
  await bigtable.close();
});

checkOverTls('a_key_without_the_scope_is_denied', instance => withTable(
  instance, 'scope', ['stats'],
  async table => {
    await fill(table, ['r']);
    const bigtable = client(undefined, keyOf('acme-reader'));
    const same = bigtable.instance(INSTANCE).table(table.id);
    assert.deepEqual(await keysOf(same), ['r']);
    await refused(CODE.PERMISSION_DENIED, same.insert(entry('s')));
    await refused(CODE.PERMISSION_DENIED, same.truncate());
    await refused(CODE.PERMISSION_DENIED, same.delete());
    await bigtable.close();
    assert.deepEqual(await keysOf(table), ['r']);
  },
));

checkOverTls('another_project_is_denied', async () => {
  const key = process.env.BIGTENT_KEY;
  const messages = [];
  for (const project of [process.env.BIGTENT_OTHER_PROJECT, 'nobody-lives-here']) {
    const bigtable = client(project, key);
    const table = bigtable.instance(INSTANCE).table('any');
    const errors = [
      await refused(CODE.PERMISSION_DENIED, table.getRows()),
      await refused(CODE.PERMISSION_DENIED, table.insert(entry('r'))),
      await refused(CODE.PERMISSION_DENIED, bigtable.instance(INSTANCE).getTables()),
    ];
    messages.push(errors.map(one => one.message.replaceAll(project, 'THE-OTHER')));
    await bigtable.close();
  }
  assert.deepEqual(messages[0], messages[1]);
});
