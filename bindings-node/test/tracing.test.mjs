// The app's trace context goes along with calls, if the app uses OpenTelemetry; the package does not depend on it.

import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import { leaveNothing, nodeWorker, open, pythonWorker } from './support.mjs'

leaveNothing()

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()]

afterEach(() => {
  context.disable()
  propagation.disable()
})

/** Runs `body` in a span of the app, which has baggage too. */
function inSpan(body) {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }))
  const inTrace = trace.setSpanContext(context.active(), { traceId, spanId, traceFlags: 1 })
  const withBaggage = propagation.setBaggage(inTrace, propagation.createBaggage({ tenant: { value: 'blue' } }))
  return context.with(withBaggage, body)
}

const traced = async (pool, options) => (await pool.call('traced', null, options)).trace

for (const [language, worker] of [
  ['Node', nodeWorker],
  ['Python', pythonWorker],
])
  test(`the active span and its baggage reach a ${language} function`, async (t) => {
    const pool = open(t, worker)
    const seen = await inSpan(async () => {
      await pool.ready()
      return traced(pool, { timeout: '20s' })
    })
    assert.deepEqual(seen, { traceparent: `00-${traceId}-${spanId}-01`, baggage: 'tenant=blue' })
  })

test('a call says otherwise, and a broadcast has it too', async (t) => {
  const pool = open(t, nodeWorker)
  await inSpan(async () => {
    assert.deepEqual(await traced(pool, { trace: { own: 'thing' } }), { own: 'thing' })
    assert.deepEqual(await traced(pool, { trace: {} }), {})
    const [{ value }] = await pool.broadcast('traced')
    assert.ok(value.trace.traceparent.includes(spanId))
  })
})

test('without a span, without OpenTelemetry, and with a broken propagator there is nothing', async (t) => {
  const pool = open(t, nodeWorker)
  assert.deepEqual(await traced(pool), {})
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  assert.deepEqual(await traced(pool), {})
  propagation.disable()
  const inject = () => {
    throw new Error('broken')
  }
  propagation.setGlobalPropagator({ inject, extract: (it) => it, fields: () => [] })
  assert.deepEqual(await traced(pool), {})
})
