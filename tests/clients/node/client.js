'use strict';
// @google-cloud/bigtable, its promises and its streams.

const {INSTANCE, client, runChecks} = require('./common');
require('./tables');
require('./writes');
require('./reads');
const filters = require('./filters');
require('./rows');
require('./refusals');
const scans = require('./scans');

async function main() {
  const bigtable = client();
  const instance = bigtable.instance(INSTANCE);
  const tables = [await filters.makeTable(instance), await scans.makeTable(instance)];
  let failed;
  try {
    failed = await runChecks(instance);
  } finally {
    await Promise.all(tables.map(table => table.delete()));
    await bigtable.close();
  }
  process.exit(failed ? 1 : 0);
}

main().catch(error => {
  console.log(`not ok node/program: ${String(error.message).replace(/\s+/g, ' ')}`);
  console.error(error);
  process.exit(1);
});
