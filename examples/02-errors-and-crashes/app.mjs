import { Pool } from 'ganger'

const pool = new Pool({ python: `${import.meta.dirname}/worker.py`, workers: 2 })

/** The error of a call that is meant to fail. */
const failure = (promise) =>
  promise.then(
    () => Promise.reject(new Error('it worked')),
    (error) => error,
  )

// The function's own error: its type, text and properties, whatever language it is written in.
const failed = await failure(pool.call('order', { count: 5 }))
const { type, message, properties } = failed.cause
console.log(`${failed.code}: ${type}: ${message} (properties: ${JSON.stringify(properties)})`)

// Mistakes of the caller are found before the function runs.
const invalid = await failure(pool.call('order', { count: 'five' }))
console.log(`${invalid.code} at ${invalid.cause.path}: the function did ${invalid.safeToRepeat ? 'not ' : ''}run`)
const unknown = await failure(pool.call('odrer', { count: 1 }))
console.log(`${unknown.code}: the function did ${unknown.safeToRepeat ? 'not ' : ''}run`)

// A dead worker costs the call that it had. The one beside it does not notice.
const [crashed, neighbour] = await Promise.all([failure(pool.call('crash')), pool.call('order', { count: 2 })])
const repeat = crashed.safeToRepeat ? 'yes' : 'no'
console.log(`${crashed.code} by ${crashed.signal}: safe to repeat? ${repeat}; its neighbour: ${neighbour}`)

// A function that says it may run twice without harm does not even fail: another worker tries again.
console.log(`restock: ${await pool.call('restock')}`)
console.log(`and afterwards: ${await pool.call('order', { count: 1 })}`)

await pool.close()
