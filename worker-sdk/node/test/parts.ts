// The SDK's inner parts in one bundle, for tests that look below the public surface.

export * from '../src/cancels.js'
export * from '../src/contract.js'
export * from '../src/decoder.js'
export * from '../src/encoder.js'
export * from '../src/errors.js'
export * from '../src/path.js'
export * from '../src/protocol.js'
export * from '../src/reader.js'
export * from '../src/session.js'
