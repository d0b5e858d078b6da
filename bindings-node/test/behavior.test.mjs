// The scenarios that hold whatever language the app and the worker are written in (tests/behavior).

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually, failure, leaveNothing, open, scratch } from './support.mjs'

leaveNothing()

const root = fileURLToPath(new URL('../..', import.meta.url))
const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target')
const workers = join(root, 'tests/behavior/workers')
const scenarios = JSON.parse(readFileSync(join(root, 'tests/behavior/scenarios.json'), 'utf8'))

const languages = {
  python: { python: join(workers, 'behavior.py') },
  node: { node: join(workers, 'behavior.mjs') },
  rust: { command: [program('debug', 'release')] },
  go: { command: [program('go')] },
}

// Shared memory makes no difference: with enough of it, with little and with none.
for (const [language, worker, more] of [
  ...Object.entries(languages),
  ['node', languages.node, { sharedMemory: '1mib' }],
  ['node', languages.node, { sharedMemory: 0 }],
])
  for (const scenario of scenarios)
    test(`${[language, ...Object.values(more ?? {})]}: ${scenario.name}`, {
      skip: skipped(language, scenario),
    }, async (t) => {
      const pool = open(t, { workers: 1, ...worker, ...more, ...camelNames(scenario.options) })
      const play = { pool, language, folder: folder(t), pids: [] }
      for (const step of scenario.steps) await take(play, step)
    })

async function take(play, step) {
  if (step.stats) {
    await eventually(
      () => Object.entries(step.stats).every(([name, value]) => at(play.pool.stats(), name) === value),
      JSON.stringify(step),
    )
    return
  }
  if (step.stream) {
    if (!step.not_for?.includes(play.language)) await read(play, step)
    return
  }
  const calls = (step.together ?? [step]).filter((call) => !call.not_for?.includes(play.language))
  const told = calls.map(() => [])
  const made = calls.map((call, n) => play.pool.call(call.call, input(play, call.input), more(call, told[n])))
  // Every call has somebody who looks at it, also while an earlier one is looked at.
  await Promise.allSettled(made)
  for (const [index, call] of calls.entries()) {
    await check(play, call, made[index])
    if (call.progress) assert.deepEqual(told[index].at(-1), call.progress)
  }
}

async function read(play, step) {
  const stream = play.pool.stream(step.stream, input(play, step.input), more(step, []))
  const wanted = itemsOf(step.items)
  const items = []
  while (items.length < (step.take ?? wanted.length)) {
    const { done, value } = await stream.next()
    if (done) break
    items.push(value)
  }
  assert.deepEqual(items, wanted)
  if (step.error) checkError(step.error, await failure(stream.next()))
  else if (step.take === undefined) assert.equal((await stream.next()).done, true)
  await stream.return()
}

// Options, and what else goes along with a call.
function more(call, told) {
  const found = camelNames(call.options)
  if (call.inputs) found.inputs = itemsOf(call.inputs)
  if (call.progress) found.onProgress = (progress) => told.push(progress)
  return found
}

function itemsOf(noted) {
  return Array.isArray(noted) ? noted : Array.from({ length: noted.count }, (_, n) => n)
}

async function check(play, call, made) {
  if (call.error) return checkError(call.error, await failure(made))
  const [result, wanted] = [await made, call.result]
  if (wanted?.to) return assert.ok(result >= wanted.from && result <= wanted.to, `${call.call}: ${result}`)
  if (call.call !== 'pid') return assert.deepEqual(result, wanted)
  if (wanted.same_pid_as) assert.equal(result, play.pids[wanted.same_pid_as - 1])
  if (wanted.other_pid_than) assert.notEqual(result, play.pids[wanted.other_pid_than - 1])
  play.pids.push(result)
}

function checkError(wanted, error) {
  for (const [name, value] of Object.entries(wanted))
    if (name === 'message') assert.ok(error.message.includes(value), error.message)
    else if (name === 'culprit') assert.equal(error.worker.culprit, value)
    else assert.equal(error[camel(name)], value, `${name} of ${error}`)
}

function folder(t) {
  const path = scratch(t, 'scratch')
  mkdirSync(path, { recursive: true })
  return path
}

function input(play, value) {
  return value?.scratch ? join(play.folder, value.scratch) : value
}

function at(stats, name) {
  return name.split('.').reduce((value, part) => value[camel(part)], stats)
}

function camelNames(options = {}) {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [camel(name), value]))
}

function camel(name) {
  return name.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase())
}

function program(...kinds) {
  const built = kinds.map((kind) => join(target, kind, 'behavior-worker'))
  return built.find((path) => existsSync(path)) ?? 'make programs comes first'
}

function skipped(language, scenario) {
  const lacksGo = language === 'go' && !existsSync(languages.go.command[0]) && !process.env.CI
  return lacksGo
    ? 'no worker in Go: make programs builds it where there is a toolchain'
    : scenario.not_for?.includes(language)
}
