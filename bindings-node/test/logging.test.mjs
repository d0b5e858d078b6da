// What workers log and print goes to the app's logger, in the order of arguments that the logger has.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pool } from 'ganger'
import { eventually, leaveNothing, nodeWorker, open, pythonWorker } from './support.mjs'

leaveNothing()

const LEVELS = ['debug', 'info', 'warn', 'error']

/** A logger that notes what it is called with. */
function noting(levels) {
  const noted = []
  const logger = Object.fromEntries(levels.map((level) => [level, (...args) => noted.push([level, ...args])]))
  return { logger, noted }
}

test('a logger like the console gets the message and then the fields', async (t) => {
  const { logger, noted } = noting(LEVELS)
  const pool = open(t, { ...nodeWorker, name: 'mine', logger })
  const pid = await pool.call('pid')
  await pool.call('logs')
  await pool.call('print', 1)
  await eventually(() => noted.length >= 6, JSON.stringify(noted))
  const worker = { pool: 'mine', worker: 0, pid }
  const about = (level) => ({ n: level, ...worker, source: 'log', logger: 'ganger.logs', fn: 'logs' })
  assert.deepEqual(
    noted.slice(0, 4),
    LEVELS.map((level) => [level, `at ${level}`, about(level)]),
  )
  const printed = noted.slice(4).map(([level, message, { source }]) => [level, message, source])
  assert.deepEqual(printed.sort(), [
    ['info', 'out 0', 'stdout'],
    ['warn', 'err', 'stderr'],
  ])
})

test('a logger with fatal gets the fields and then the message', async (t) => {
  const { logger, noted } = noting([...LEVELS, 'fatal'])
  const pool = open(t, { ...pythonWorker, logger })
  await pool.call('log_critical')
  await eventually(() => noted.some(([level]) => level === 'fatal'))
  const [, fields, message] = noted.find(([level]) => level === 'fatal')
  assert.deepEqual(
    [message, fields.fn, fields.source, fields.logger],
    ['going down', 'log_critical', 'log', 'ganger.log_critical'],
  )
})

test('a logger that throws is warned of, and one without its methods is refused', async (t) => {
  const warnings = []
  const warned = (warning) => warnings.push(warning.message)
  process.on('warning', warned)
  t.after(() => process.off('warning', warned))
  const { logger } = noting(LEVELS)
  logger.info = () => {
    throw new Error('the disk is full')
  }
  const pool = open(t, { ...nodeWorker, logger })
  assert.equal(await pool.call('print', 1), 1)
  // Polled: an idle pool keeps no process.
  await eventually(() => warnings.some((message) => /the disk is full/.test(message)))
  for (const wrong of [{}, 'console', 1, { info: () => {} }])
    assert.throws(() => new Pool({ ...nodeWorker, logger: wrong }), { code: 'INVALID_OPTION', message: /logger/ })
  assert.equal(await open(t, { ...nodeWorker, logger: null }).call('echo', 1), 1)
})
