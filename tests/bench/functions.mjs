// The functions that the Node peers, and a Ganger pool, run in their workers.
export const noop = (payload) => payload
export const echo = (payload) => payload
export const wait = ({ ms }) => new Promise((done) => setTimeout(done, ms, ms))
// After some time, so that every worker has to answer when as many are asked at once.
export const pid = ({ ms }) => new Promise((done) => setTimeout(done, ms, process.pid))
