'use strict';
// Where the server is, and how checks are told: "ok NAME" or "not ok NAME: why", a line each.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {Bigtable} = require('@google-cloud/bigtable');
const {grpc} = require('google-gax');

const EMULATOR = process.env.BIGTABLE_EMULATOR_HOST;
const PROJECT = process.env.BIGTENT_PROJECT;
const INSTANCE = process.env.BIGTENT_INSTANCE || 'main';
const HASTY = EMULATOR ? 'dev-hasty' : 'hasty'; // a tenant of few writes a second
const CHECK_MS = 120000;
const CODE = grpc.status;

function keyOf(tenant) {
  if (tenant === PROJECT) return process.env.BIGTENT_KEY;
  return fs.readFileSync(path.join(process.env.BIGTENT_KEYS, `${tenant}.key`), 'utf8').trim();
}

// The client of a user with a certificate authority and a token of his own, or in the clear.
function client(projectId = PROJECT, key) {
  if (EMULATOR) return new Bigtable({projectId, metricsEnabled: false});
  const token = key || keyOf(projectId);
  const bearer = grpc.credentials.createFromMetadataGenerator((_, done) => {
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${token}`);
    done(null, metadata);
  });
  const tls = grpc.credentials.createSsl(fs.readFileSync(process.env.BIGTENT_CA));
  return new Bigtable({
    projectId,
    apiEndpoint: process.env.BIGTENT_ENDPOINT,
    sslCreds: grpc.credentials.combineChannelCredentials(tls, bearer),
    metricsEnabled: false,
  });
}

let madeTables = 0;

function newTableId(subject) {
  madeTables += 1;
  return `node-${subject}-${process.pid}-${Date.now() % 1e9}-${madeTables}`;
}

// That takes its place among the writes, too, where these are limited.
async function deleted(table, turnsLeft = 60) {
  for (; ; turnsLeft--) {
    try {
      return await table.delete();
    } catch (error) {
      if (error.code !== CODE.RESOURCE_EXHAUSTED || turnsLeft === 0) throw error;
      await sleep(500);
    }
  }
}

// A table for one check.
async function withTable(instance, subject, options, use) {
  const table = instance.table(newTableId(subject));
  await table.create(Array.isArray(options) ? {families: options} : options);
  try {
    return await use(table);
  } finally {
    await deleted(table);
  }
}

const checks = [];

function check(name, run) {
  checks.push({name, run});
}

function checkOverTls(name, run) {
  if (!EMULATOR) check(name, run);
}

function outOfTime() {
  let timer;
  const promise = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${CHECK_MS} ms`)), CHECK_MS);
  });
  return {promise, cancel: () => clearTimeout(timer)};
}

// All, or by hand those that match ONLY.
async function runChecks(...args) {
  const only = new RegExp(process.env.ONLY ?? '');
  let failed = 0;
  for (const {name, run} of checks.filter(one => only.test(one.name))) {
    const clock = outOfTime();
    try {
      await Promise.race([run(...args), clock.promise]);
      console.log(`ok node/${name}`);
    } catch (error) {
      failed += 1;
      const why = `${error.code ?? ''} ${error.message}`.replace(/\s+/g, ' ').slice(0, 600);
      console.log(`not ok node/${name}: ${why}`);
      console.error(`--- node/${name}\n`, error);
    } finally {
      clock.cancel();
    }
  }
  return failed;
}

// The promise is rejected with that gRPC code.
async function refused(code, promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    assert.equal(error.code, code, `code ${error.code} (${error.message}), wanted ${code}`);
    return error;
  }
  assert.fail(`no error ${code}, but ${JSON.stringify(value)?.slice(0, 200)}`);
}

const sleep = ms => new Promise(done => setTimeout(done, ms));

const bytes = text => Buffer.from(text, 'latin1');

// Keys and values as bytes: a table's own decoding is for text.
async function rowsOf(table, options = {}) {
  const [rows] = await table.getRows({decode: false, ...options});
  return rows;
}

const keysOf = async (table, options) =>
  (await rowsOf(table, options)).map(row => row.id.toString('latin1'));

// [key, family, qualifier, micros, value, labels] for each cell, as latin1 text.
function cellsOf(row) {
  const cells = [];
  for (const [family, columns] of Object.entries(row.data)) {
    for (const [qualifier, versions] of Object.entries(columns)) {
      for (const one of versions) {
        const value = one.value.toString('latin1');
        const key = row.id.toString('latin1');
        cells.push([key, family, qualifier, Number(one.timestamp), value, one.labels]);
      }
    }
  }
  return cells;
}

const entry = (key, value = '1') => ({
  key: bytes(key),
  data: {stats: {n: {value: bytes(value), timestamp: 1000}}},
});

const fill = (table, keys) => table.insert(keys.map(key => entry(key)));

module.exports = {
  CODE,
  EMULATOR,
  HASTY,
  INSTANCE,
  assert,
  bytes,
  cellsOf,
  check,
  checkOverTls,
  client,
  entry,
  fill,
  keyOf,
  keysOf,
  newTableId,
  refused,
  rowsOf,
  runChecks,
  sleep,
  withTable,
};
