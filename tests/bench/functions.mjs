// The functions that the Node peers, and a Ganger pool, run in their workers.
export const noop = (payload) => payload
export const echo = (payload) => payload
export const wait = ({ ms }) => new Promise((done) => setTimeout(done, ms, ms))
